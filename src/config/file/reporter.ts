import type { Path, Severity } from './diagnostic.ts';

/** Whether a diagnostic is about the value at a path, or about the path's last key, which is then part of the message. */
export type About = 'value' | 'key';

interface ReportOptions {
  /** Default: the value. */
  readonly about?: About;
  /** Default: an error. */
  readonly severity?: Severity;
  /** Whether it is about the content or absence of a key, certificate or secret file. Default: false. */
  readonly isContent?: boolean;
}

/** Takes findings about a file, each with its place. */
export abstract class Reporter<Place extends string | Path = Path> {
  abstract add(place: Place, message: string, options?: ReportOptions): void;

  warn(place: Place, message: string): void {
    this.add(place, message, { severity: 'warning' });
  }

  hint(place: Place, message: string): void {
    this.add(place, message, { severity: 'hint' });
  }

  /** Reports a key that is superfluous, misnamed or misplaced. */
  addKey(place: Place, message: string, severity: Severity = 'error'): void {
    this.add(place, message, { about: 'key', severity });
  }

  /** Reports a key that changes nothing. `why` ends the sentence: `without "sign_out"`. */
  addUseless(place: Place, why: string): void {
    this.addKey(place, `"${[place].flat().at(-1)}" has no effect ${why}`);
  }
}
