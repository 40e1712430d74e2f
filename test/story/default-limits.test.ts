import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { clockOfLimits } from '../support/test-clock.ts';
import { startUpstream } from '../support/wire/index.ts';

test('a page that meets the default of the global limit is one line in the log and on the status page, with the key to write', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    clock: clockOfLimits(),
    config: { log: { level: 'info', access: false }, limits: 'none' },
  });
  const page = await gateway.connect();
  const statuses: number[] = [];
  for (let file = 0; file < 80; file++) statuses.push((await page.ask(head(`GET /${file}.js`))).status);
  expect(statuses.filter(status => status === 429)).toHaveLength(30);

  const write = 'write "global: { address: 500/10s }" into limits.yaml';
  const lines = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'limit');
  expect(lines).toMatchObject([{ level: 'warn', class: 'address', quota: '50/1s' }]);
  expect(lines[0].msg).toContain(write);
  expect((await gateway.admin('/status')).text).toContain(write.replaceAll('"', '&quot;'));
  const { defaultRefusals } = JSON.parse((await gateway.admin('/status.json')).text);
  expect(defaultRefusals).toMatchObject([{ callerClass: 'address', quota: '50/1s' }]);
});
