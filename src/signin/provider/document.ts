import { askProvider, type ProviderLink } from './ask.ts';
import { ProviderFault } from './fault.ts';

/** Fetches a JSON document from the provider. Rejects with a `ProviderFault`, also on any status but 200. */
export async function getDocument(url: string, link: ProviderLink, deadline: AbortSignal): Promise<Buffer> {
  const headers = { accept: 'application/json', 'user-agent': 'weir' };
  const response = await askProvider({ method: 'GET', url, headers, body: null, deadline }, link);
  if (response.status !== 200) {
    throw new ProviderFault('refused', `${url} answered ${response.status}`, { status: response.status });
  }
  return response.body;
}
