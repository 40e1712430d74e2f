import type { ProviderOptions } from '../options.ts';
import { getDocument } from './document.ts';
import { ProviderFault } from './fault.ts';
import { discoveryAddress, type ProviderMetadata, readMetadata } from './metadata.ts';

/** Fetches and reads the discovery document. Rejects with a `ProviderFault`. */
export async function discover(options: ProviderOptions): Promise<ProviderMetadata> {
  const body = await getDocument(discoveryAddress(options), options, AbortSignal.timeout(options.timeoutMs));
  return readMetadata(parse(body), options);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new ProviderFault('nonsense', 'the discovery document is not JSON');
  }
}
