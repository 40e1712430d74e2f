import { z } from 'zod';
import { eachOnce, wholeNumber } from './plain-values.ts';

const EXPECTED = 'expected a list of statuses such as [404, 5xx]';
const ONE_EXPECTED = 'expected a status from 200 to 599, or a class such as 5xx';
const HUNDREDS = 100;

export class Statuses {
  readonly written: readonly string[];
  readonly #statuses: ReadonlySet<number>;
  readonly #classes: ReadonlySet<number>;

  /** @param written such as `404` and `5xx` */
  constructor(written: readonly string[]) {
    this.written = written;
    this.#statuses = new Set(written.filter(each => !each.endsWith('xx')).map(Number));
    this.#classes = new Set(written.filter(each => each.endsWith('xx')).map(each => Number(each.charAt(0))));
  }

  has(status: number): boolean {
    return this.#classes.has(Math.floor(status / HUNDREDS)) || this.#statuses.has(status);
  }

  /** Whether any status of a class is in the set, such as 5 for 500 to 599. */
  meets(ofClass: number): boolean {
    return this.written.some(each => each.startsWith(String(ofClass)));
  }
}

/** A list of statuses (`404`) and classes of them (`5xx`). */
export function statuses() {
  const one = z.union(
    [
      wholeNumber(200, 599, ONE_EXPECTED).transform(String),
      z.string({ error: ONE_EXPECTED }).regex(/^(?:[2-5]xx|[2-5]\d\d)$/, { error: ONE_EXPECTED }),
    ],
    { error: ONE_EXPECTED },
  );
  return z.array(one, { error: EXPECTED }).min(1, { error: EXPECTED }).superRefine(eachOnce);
}
