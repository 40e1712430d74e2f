// autocannon has no types of its own: what is used of it, here and in scripts/load/.
declare module 'autocannon' {
  export interface Client {
    setHeaders(headers: Readonly<Record<string, string>>): void;
    on(event: 'headers', hear: (head: { readonly headers: readonly string[] }) => void): void;
    /** `tookMs`: from sending the request to the end of the response. */
    on(event: 'response', hear: (status: number, bytes: number, tookMs: number) => void): void;
  }

  export interface Options {
    readonly url: string;
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    /** Seconds. */
    readonly timeout: number;
    /** Requests per second of all connections together. */
    readonly overallRate?: number;
    readonly setupClient?: (client: Client) => void;
  }

  export interface Result {
    readonly requests: { readonly total: number };
    /** Seconds. */
    readonly duration: number;
    readonly latency: Readonly<Record<'p50' | 'p90' | 'p99' | 'p99_9' | 'max', number>>;
    /** Timeouts are among them. */
    readonly errors: number;
    readonly timeouts: number;
    readonly non2xx: number;
  }

  export interface Run extends Promise<Result> {
    /** Each second. */
    on(event: 'tick', hear: () => void): void;
  }

  export default function autocannon(options: Options): Run;
}
