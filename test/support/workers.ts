import type { LocalGateway } from './gateway.ts';
import { head } from './requests.ts';
import { waitFor } from './wait.ts';
import type { RawClient } from './wire/index.ts';

/**
 * Connects until each worker serves one connection, and returns these. The gateway must write access lines, and each worker is one
 * instance in them. Each connection has sent a request for `/things`.
 */
export async function clientsOfEach(gateway: LocalGateway, workers: number): Promise<readonly RawClient[]> {
  const found = new Map<string, RawClient>();
  await waitFor(`${workers} workers serve`, async () => {
    const before = instances(gateway).length;
    const client = await gateway.connect();
    await client.ask(head('GET /things'));
    await waitFor('the line', () => instances(gateway).length > before);
    const instance = instances(gateway).at(-1) ?? '';
    if (found.has(instance)) client.destroy();
    else found.set(instance, client);
    return found.size === workers;
  });
  return [...found.values()];
}

/** The instances of the access lines. */
function instances({ logLines }: LocalGateway): string[] {
  return logLines.flatMap(line => /"instance":"([^"]+)"/.exec(line)?.[1] ?? []);
}
