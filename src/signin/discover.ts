import { askProvider } from './ask.ts';
import { ProviderFault } from './fault.ts';
import { discoveryAddress, type ProviderMetadata, readMetadata } from './metadata.ts';
import type { ProviderOptions } from './options.ts';

/** Fetches and reads the discovery document once. Rejects with a `ProviderFault`. */
export async function discover(options: ProviderOptions): Promise<ProviderMetadata> {
  const url = discoveryAddress(options);
  const answer = await askProvider(
    {
      method: 'GET',
      url,
      headers: { accept: 'application/json', 'user-agent': 'weir' },
      body: null,
      deadline: AbortSignal.timeout(options.timeoutMs),
    },
    options,
  );
  if (answer.status !== 200) {
    throw new ProviderFault('refused', `${url} answered ${answer.status}`, { status: answer.status });
  }
  return readMetadata(parse(answer.body), options);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new ProviderFault('nonsense', 'the discovery document is not JSON');
  }
}
