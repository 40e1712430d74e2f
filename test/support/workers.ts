import type { LocalGateway } from './gateway.ts';
import { head } from './requests.ts';
import { waitFor } from './wait.ts';
import type { RawClient } from './wire/index.ts';

/**
 * Connects until each worker serves one connection, and returns these. The gateway must write access lines. Each connection has sent a
 * request for `/things`.
 */
export async function clientsOfEach(gateway: LocalGateway, workers: number): Promise<readonly RawClient[]> {
  const found = new Map<string, RawClient>();
  await waitFor(`${workers} workers serve`, async () => {
    const before = gateway.logLines.length;
    const client = await gateway.connect();
    await client.ask(head('GET /things'));
    await waitFor('the line', () => workersIn(gateway.logLines.slice(before).join()).size > 0);
    const [worker = ''] = workersIn(gateway.logLines.slice(before).join());
    if (found.has(worker)) client.destroy();
    else found.set(worker, client);
    return found.size === workers;
  });
  return [...found.values()];
}

/** Names the workers of the access lines: each begins the ids of its requests in a way of its own. */
export function workersIn(log: string): Set<string> {
  return new Set(Array.from(log.matchAll(/"requestId":"([^"-]+)-/g), ([, name = '']) => name));
}
