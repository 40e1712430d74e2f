/** Requests that a load generator sends as fast as they are answered. */
export interface LoadPlan {
  readonly method: 'GET' | 'POST';
  /** Over TLS. */
  readonly secure: boolean;
  readonly path: string;
  /** Bytes of the request's body; 0: none. */
  readonly bodyBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  /** Whether the responses are to be 2xx, or all of them anything else. */
  readonly expect: 'success' | 'refusal';
}

export interface LoadResult {
  /** Requests that were answered. */
  readonly requests: number;
  /** Those that failed, or were answered with another kind of status than expected. */
  readonly failures: number;
}

/** A program that sends the requests of a plan. */
export interface LoadGenerator {
  readonly name: string;
  run(plan: LoadPlan, port: number, seconds: number): Promise<LoadResult>;
}

/** Where a plan is sent. */
export function urlOf({ secure, path }: LoadPlan, port: number): string {
  return `${secure ? 'https' : 'http'}://127.0.0.1:${port}${path}`;
}

/** Of so many responses, of which so many were not 2xx, those that the plan did not expect. */
export function unexpected(plan: LoadPlan, requests: number, other: number): number {
  return plan.expect === 'success' ? other : requests - other;
}
