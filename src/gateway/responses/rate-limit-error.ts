import type { Fields, RestrictedBy, RestrictionReason } from '../../core/index.ts';
import {
  GatewayError,
  MAX_COMMON_WAIT_MS,
  MAX_RETRY_AFTER_MS,
  RpcCode,
  retryAfterField,
} from '../../core/index.ts';

interface RateLimitErrorOptions {
  /** ASCII, without characters that need escaping in JSON. */
  readonly message: string;
  readonly retryAfterMs: number;
  /**
   * The value of `X-RateLimit-Scope`; `global` refuses everything from this sender, not just one bucket. Decides, with
   * `restrictedBy`, whether the response counts as an invalid request.
   */
  readonly scope: 'user' | 'shared' | 'global';
  /** Set if the sender is restricted or blocked: these responses do not count against it. */
  readonly restrictedBy?: RestrictedBy;
  /**
   * True if others share the blame, whatever the scope says: the response does not count as an invalid request. Default false.
   */
  readonly isShared?: boolean;
  /** Why `restrictedBy` refused. */
  readonly why?: RestrictionReason | 'blocked';
  /** Additional response fields. */
  readonly fields?: Fields;
}

const CODE = `,"code":${RpcCode.resourceExhausted}`;

/** A temporary refusal: a 429 with the rate-limit body instead of the error object. */
export class RateLimitError extends GatewayError {
  /**
   * JSON in ASCII (docs/contract.md, 4.6): `message`, `retry_after` in seconds to the millisecond, `global`, and the numeric `code`
   * that distinguishes a restriction from ordinary limits.
   */
  readonly body: string;
  readonly retryAfterMs: number;
  readonly scope: 'user' | 'shared' | 'global';
  /** What refuses everything from this sender; `null` if a limit refused this request. */
  readonly restrictedBy: RestrictedBy | null;
  readonly why: RestrictionReason | 'blocked' | null;
  readonly isShared: boolean;
  /** False for restricted addresses: without `Via`, clients know that the service never saw the request. */
  readonly via: boolean;
  readonly #members: string;

  constructor(options: RateLimitErrorOptions) {
    const { message, scope, restrictedBy = null } = options;
    const retryAfterMs = Math.min(MAX_RETRY_AFTER_MS, Math.max(1, Math.ceil(options.retryAfterMs)));
    super({
      status: 429,
      message,
      fields: [
        ...retryAfterField(retryAfterMs),
        ...scopeFields(options),
        ...(options.fields ?? []),
        'Cache-Control',
        'no-store',
      ],
    });
    this.retryAfterMs = retryAfterMs;
    this.scope = scope;
    this.restrictedBy = restrictedBy;
    this.why = options.why ?? null;
    this.isShared = options.isShared ?? scope === 'shared';
    this.via = restrictedBy !== 'address' && restrictedBy !== 'blocked_address';
    this.#members = `"message":"${message}","retry_after":${retryAfterMs / 1_000},"global":${scope === 'global'}`;
    this.body = `{${this.#members}${restrictedBy === null ? '' : CODE}}`;
  }

  /** The body with `code` and `details`, so that it is an error object as well. */
  get errorObject(): string {
    return `{${this.#members}${CODE},"details":[]}`;
  }
}

/**
 * Omits the scope from a bucket's refusal, whose bucket headers include it. Clients only test for the presence of
 * `X-RateLimit-Global`.
 */
function scopeFields({ scope, restrictedBy }: RateLimitErrorOptions): string[] {
  if (scope === 'global') return ['X-RateLimit-Global', 'true', 'X-RateLimit-Scope', 'global'];
  return restrictedBy === undefined ? [] : ['X-RateLimit-Scope', scope];
}

const LIMITED = 'You are being rate limited.';

/**
 * The caller's global limit refused. Carries only three fields of the rate-limit family (docs/contract.md, 4.6).
 *
 * @param fields `RateLimit` and `RateLimit-Policy`, where they are sent
 * @param isShared whether the counter that refused is the one shared by all callers that found no room in the table
 */
export function globallyRefused(retryAfterMs: number, fields: Fields = [], isShared = false): RateLimitError {
  return new RateLimitError({ message: LIMITED, retryAfterMs, fields, isShared, scope: 'global' });
}

export function bucketRefused(retryAfterMs: number, scope: 'user' | 'shared'): RateLimitError {
  return new RateLimitError({ message: LIMITED, retryAfterMs, scope });
}

/** For a caller with too many concurrent requests in a bucket that has no other limits to report. */
export function refusedAtOnce(retryAfterMs: number): RateLimitError {
  const fields = ['X-RateLimit-Scope', 'shared'];
  return new RateLimitError({ message: LIMITED, retryAfterMs, scope: 'shared', fields });
}

/** Does not reveal the operator's reasons, which may not be the client's fault. */
const BY_OPERATOR = 'This client is restricted for a time. Try again after the wait.';
const ADDRESS_MESSAGES: Readonly<Record<RestrictionReason, string>> = {
  invalid_requests: 'Your address is temporarily restricted: too many requests from it were refused.',
  ignored_refusals: 'Your address is temporarily restricted: too many requests from it were refused.',
  webhook_not_found: 'Your address is temporarily restricted: it called too many webhooks that answered 404.',
  operator: BY_OPERATOR,
};

/** For an address that committed too many offences, or that an operator restricted. */
export function addressRestricted(retryAfterMs: number, reason: RestrictionReason): RateLimitError {
  const message = ADDRESS_MESSAGES[reason];
  return new RateLimitError({ restrictedBy: 'address', why: reason, message, retryAfterMs, scope: 'global' });
}

/** For a caller that ignored its wait, or that an operator restricted. */
export function callerRestricted(retryAfterMs: number, reason: RestrictionReason): RateLimitError {
  const message =
    reason === 'operator'
      ? BY_OPERATOR
      : 'You are temporarily restricted: you kept on sending while you were told to wait.';
  return new RateLimitError({ restrictedBy: 'caller', why: reason, message, retryAfterMs, scope: 'global' });
}

/** For addresses listed under `blocked`. Gives the longest wait that every client can keep. */
export const ADDRESS_BLOCKED = new RateLimitError({
  restrictedBy: 'blocked_address',
  why: 'blocked',
  message: 'Your address is blocked.',
  retryAfterMs: MAX_COMMON_WAIT_MS,
  scope: 'global',
});
export const CALLER_BLOCKED = new RateLimitError({
  restrictedBy: 'blocked_caller',
  why: 'blocked',
  message: 'You are blocked.',
  retryAfterMs: MAX_COMMON_WAIT_MS,
  scope: 'global',
});

/** For an address that kept calling a webhook that does not exist. */
export function webhookRestricted(retryAfterMs: number): RateLimitError {
  const message = 'This webhook answered 404 to you too often: do not call it again.';
  return new RateLimitError({
    restrictedBy: 'webhook',
    why: 'webhook_not_found',
    message,
    retryAfterMs,
    scope: 'shared',
  });
}
