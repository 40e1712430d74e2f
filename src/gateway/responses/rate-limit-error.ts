import { GatewayError, RpcCode } from '../../core/index.ts';

export interface RateLimitErrorOptions {
  /** In ASCII, without characters that JSON escapes. */
  readonly message: string;
  readonly retryAfterMs: number;
  /** Everything that the sender does is refused, not one bucket. */
  readonly global: boolean;
  /** What `X-RateLimit-Scope` says; decides with `byRestriction` whether the response counts as an invalid request. */
  readonly scope: 'user' | 'shared' | 'global';
  /** The sender is restricted: such responses are not counted against it. */
  readonly byRestriction?: boolean;
  /** Whether the body carries the numeric code. */
  readonly code?: boolean;
  /** False: the response goes out without `Via`, by which clients know that it came from before the service. */
  readonly via?: boolean;
}

/** Clients keep `Retry-After` in 16 bits. */
const MAX_WAIT_MS = 65_535_000;
const CODE = `,"code":${RpcCode.resourceExhausted}`;

/** A refusal for now: 429 with the rate-limit body in place of the error object. */
export class RateLimitError extends GatewayError {
  /** JSON in ASCII (docs/contract.md, 4.6): `message`, `retry_after` in seconds to the millisecond, `global`, maybe `code`. */
  readonly body: string;
  readonly scope: 'user' | 'shared' | 'global';
  readonly byRestriction: boolean;
  readonly via: boolean;
  readonly #members: string;

  constructor(options: RateLimitErrorOptions) {
    const { message, global, scope, code = false } = options;
    const retryAfterMs = Math.min(MAX_WAIT_MS, Math.max(1, Math.ceil(options.retryAfterMs)));
    super({
      status: 429,
      rpcCode: RpcCode.resourceExhausted,
      side: 'client',
      message,
      fields: [
        'Retry-After',
        String(retryAfterSeconds(retryAfterMs)),
        ...scopeFields(options),
        'Cache-Control',
        'no-store',
      ],
    });
    this.scope = scope;
    this.byRestriction = options.byRestriction ?? false;
    this.via = options.via ?? true;
    this.#members = `"message":"${message}","retry_after":${retryAfterMs / 1_000},"global":${global}`;
    this.body = `{${this.#members}${code ? CODE : ''}}`;
  }

  /** The body where it has to read as the error object as well: with `code` and `details`. */
  get errorObject(): string {
    return `{${this.#members}${CODE},"details":[]}`;
  }
}

/** A bucket's refusal says its scope among the bucket headers. A client takes `X-RateLimit-Global` for true where it is there. */
function scopeFields({ global, scope, byRestriction }: RateLimitErrorOptions): string[] {
  if (global) return ['X-RateLimit-Global', 'true', 'X-RateLimit-Scope', 'global'];
  return byRestriction === true ? ['X-RateLimit-Scope', scope] : [];
}

/** Whole seconds, never less than the wait: clients of this header family wait exactly so long. At least 1. */
function retryAfterSeconds(waitMs: number): number {
  return Math.ceil(waitMs / 1_000);
}

const LIMITED = 'You are being rate limited.';

/** The global limit of the caller. Of the rate-limit family it carries exactly its three (docs/contract.md, 4.6). */
export function globallyRefused(retryAfterMs: number): RateLimitError {
  return new RateLimitError({ message: LIMITED, retryAfterMs, global: true, scope: 'global' });
}

export function bucketRefused(retryAfterMs: number, scope: 'user' | 'shared'): RateLimitError {
  return new RateLimitError({ message: LIMITED, retryAfterMs, global: false, scope });
}

/** Answers to the restricted do not count against them, and say by their code that this is no ordinary limit. */
const RESTRICTED = { byRestriction: true, code: true } as const;

/** An address that sent too many invalid requests, or ignored refusals. Without `Via`. */
export function addressRestricted(retryAfterMs: number): RateLimitError {
  const message = 'Your address is temporarily restricted: too many requests from it were refused.';
  return new RateLimitError({
    ...RESTRICTED,
    message,
    retryAfterMs,
    global: true,
    scope: 'global',
    via: false,
  });
}

/** A caller who did not wait as told. */
export function callerRestricted(retryAfterMs: number): RateLimitError {
  const message = 'You are temporarily restricted: you kept on sending while you were told to wait.';
  return new RateLimitError({ ...RESTRICTED, message, retryAfterMs, global: true, scope: 'global' });
}

/** An address that kept on calling a webhook which is not there. */
export function webhookRestricted(retryAfterMs: number): RateLimitError {
  const message = 'This webhook answered 404 to you too often: do not call it again.';
  return new RateLimitError({ ...RESTRICTED, message, retryAfterMs, global: false, scope: 'shared' });
}
