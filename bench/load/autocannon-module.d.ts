// autocannon has no types of its own: what is used of it.
declare module 'autocannon' {
  export default function autocannon(options: {
    readonly url: string;
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    /** Seconds. */
    readonly timeout: number;
  }): Promise<{
    readonly requests: { readonly total: number };
    readonly errors: number;
    readonly timeouts: number;
    readonly non2xx: number;
  }>;
}
