import { type BodyDecoder, ChunkedBody, LengthBody, type PieceTaker, UntilCloseBody } from '../body/index.ts';
import type { ResponseFraming } from './response-framing.ts';

/** Makes the decoder for a response body of this length. */
export function responseBody(length: ResponseFraming['length'], take: PieceTaker): BodyDecoder {
  // No limit on chunk extensions: a service may sign every chunk of a body of any length.
  if (length === 'chunked') return new ChunkedBody(take, Number.POSITIVE_INFINITY);
  return length === 'until close' ? new UntilCloseBody(take) : new LengthBody(length, take);
}
