import { KeySetError } from './jwk.ts';

export interface FetchKeySetOptions {
  /** Ends the fetch, answer included. */
  readonly signal: AbortSignal;
  /** Largest answer, counted after decompression. */
  readonly maxBytes: number;
}

/**
 * Fetches an issuer's key set. Redirects are not followed: they would let whoever answers there name another place to take
 * keys from, perhaps over plain http.
 *
 * @throws KeySetError for an answer other than 200 or one that is too large; what `fetch` throws when there is no answer
 */
export async function fetchKeySet(url: string, options: FetchKeySetOptions): Promise<Uint8Array> {
  const answer = await fetch(url, {
    redirect: 'manual',
    headers: { accept: 'application/jwk-set+json, application/json' },
    signal: options.signal,
  });
  if (answer.status !== 200 || answer.body === null) {
    await answer.body?.cancel();
    throw new KeySetError(`the issuer answered ${answer.status} to the fetch of its keys`);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop cancels the body.
  for await (const chunk of answer.body) {
    length += chunk.byteLength;
    if (length > options.maxBytes)
      throw new KeySetError(`the key set is larger than ${options.maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
