import { jsonIn } from '../../core/index.ts';

const SHOWN_FIELDS = [
  ...['WWW-Authenticate', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
  ...['X-RateLimit-Reset-After', 'X-RateLimit-Bucket', 'X-RateLimit-Scope', 'X-RateLimit-Global'],
  'Retry-After',
];

export interface NarratedRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface StepResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The members of its body if that is a JSON object; else empty. */
  readonly members: ReadonlyMap<string, unknown>;
}

/** Matches tokens, codes and signatures; ids of users and sessions are shorter. */
const LONG_WORD = /[\w-]{40,}(?:\.[\w-]+)*/g;
const SHOWN = 12;

/** Prints the steps of a sign-in to standard output as it happens and counts the checks that failed. */
export class Narrator {
  #steps = 0;
  #faults = 0;

  get faults(): number {
    return this.#faults;
  }

  step(title: string): void {
    this.#steps += 1;
    console.log(`\n${this.#steps}. ${title}`);
  }

  say(text: string): void {
    console.log(`     ${shorten(text)}`);
  }

  /** Sends the request and shows it with its response. Checks the status if one is expected. */
  async ask({ method, url, headers = {}, body }: NarratedRequest, expected?: number): Promise<StepResponse> {
    console.log(`  -> ${method} ${shorten(url)}`);
    for (const [name, value] of Object.entries(headers)) this.say(`${name}: ${value}`);
    if (body !== undefined) this.say(body);
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    console.log(`  <- ${response.status} ${response.statusText}`);
    for (const name of SHOWN_FIELDS) {
      const value = response.headers.get(name);
      if (value !== null) this.say(`${name}: ${value}`);
    }
    for (const line of indented(text).split('\n')) this.say(line);
    if (expected !== undefined) this.check(`${expected}`, response.status === expected);
    return { status: response.status, headers: response.headers, members: membersOf(text) };
  }

  /** Prints whether a statement about the response is true. */
  check(claim: string, holds: boolean): void {
    if (!holds) this.#faults += 1;
    console.log(`  ${holds ? 'ok' : 'NO'} ${claim}`);
  }
}

/** Shortens every token, code and signature. */
function shorten(text: string): string {
  return text.replaceAll(LONG_WORD, word => `${word.slice(0, SHOWN)}...(${word.length})`);
}

function membersOf(text: string): ReadonlyMap<string, unknown> {
  const value = jsonIn(text);
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}

function indented(text: string): string {
  const value = jsonIn(text);
  return value === undefined ? text : JSON.stringify(value, null, 2);
}
