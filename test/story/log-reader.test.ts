import { expect, test } from 'vitest';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { head } from '../support/requests.ts';
import { startUpstream } from '../support/wire/index.ts';

test('a gateway whose log reader has died keeps serving, and stops when asked to', async () => {
  const upstream = await startUpstream();
  const gateway = await startGatewayProcess({ upstreamPort: upstream.port });
  gateway.process.stdout?.destroy();
  for (let i = 0; i < 3; i++) {
    const client = await gateway.connect();
    expect((await client.ask(head('GET /a'))).status).toBe(200);
  }
  gateway.signal('SIGTERM');
  expect(await gateway.exit).toBe(0);
});
