import { type LastResponse, mayAnswerTwice, type OutgoingRequest } from '../../http1/index.ts';

/**
 * Whether what is known of the exchange makes a second response likely. A 429 counts because it often comes from a limiter
 * inside the service that lets the request through all the same, and because clients can provoke one whenever they like.
 */
export function lateBytesAreLikely(
  { bodiless, status }: LastResponse,
  request: OutgoingRequest | null,
): boolean {
  return bodiless || status === 429 || (request !== null && mayAnswerTwice(request));
}
