import { GatewayError, RpcCode } from '../core/index.ts';

/** Body of a 429, as the specification's section 2 gives it. */
export interface RateLimitBody {
  readonly message: string;
  /** Seconds, to the millisecond, rounded up. */
  readonly retry_after: number;
  readonly global: boolean;
}

/** A refusal for now: 429 with the rate-limit body in place of the error object. */
export class RateLimitError extends GatewayError {
  readonly body: RateLimitBody;

  /** `fields`: those that say which limit it was, beside `Retry-After`. */
  constructor(message: string, retryAfterMs: number, global: boolean, fields: readonly string[]) {
    const waitMs = Math.max(1, Math.ceil(retryAfterMs));
    super({
      status: 429,
      rpcCode: RpcCode.resourceExhausted,
      side: 'client',
      message,
      fields: ['Retry-After', String(retryAfterSeconds(waitMs)), ...fields, 'Cache-Control', 'no-store'],
      retrySafe: true,
    });
    this.body = { message, retry_after: waitMs / 1_000, global };
  }
}

/** A limit on everything that the sender does. Of the rate-limit family it carries exactly these (specification, 8.2). */
export function globallyRefused(retryAfterMs: number): RateLimitError {
  return new RateLimitError('You are being rate limited.', retryAfterMs, true, [
    ...['X-RateLimit-Global', 'true'],
    ...['X-RateLimit-Scope', 'global'],
  ]);
}

/** Whole seconds, never less than the wait: clients of this header family wait exactly so long. */
function retryAfterSeconds(waitMs: number): number {
  return Math.min(65_535, Math.max(1, Math.ceil(waitMs / 1_000)));
}
