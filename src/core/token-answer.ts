import type { GatewayError } from './error.ts';

// A provider's answer about a token (RFC 7662), as passed from `identity/signin/` to `identity/auth/`.

export interface TokenAnswer {
  /** The members of the answer, as parsed JSON; `null` if the token is not active. */
  readonly members: Readonly<Record<string, unknown>> | null;
  /** When the question was sent, on the monotonic clock. The answer describes the state at that time. */
  readonly askedAtMs: number;
}

export interface NoAnswer {
  readonly error: GatewayError;
  /** Whether the question may have reached the provider. */
  readonly reached: boolean;
}

export type TokenReply = TokenAnswer | NoAnswer;
