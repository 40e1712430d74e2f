import { askProvider, type ProviderLink } from './ask.ts';
import { ProviderFault } from './fault.ts';

/** Fetches a JSON document from the provider. Rejects with a `ProviderFault`, also on any status but 200. */
export async function getDocument(url: string, link: ProviderLink, deadline: AbortSignal): Promise<Buffer> {
  const headers = { accept: 'application/json', 'user-agent': 'weir' };
  const answer = await askProvider({ method: 'GET', url, headers, body: null, deadline }, link);
  if (answer.status !== 200) {
    throw new ProviderFault('refused', `${url} answered ${answer.status}`, { status: answer.status });
  }
  return answer.body;
}
