import { expect, onTestFinished, test, vi } from 'vitest';
import { MetricSet } from '../../src/observe/metrics/index.ts';
import { RecentErrors } from '../../src/observe/recent.ts';
import { startGateway } from '../support/gateway.ts';
import { connectRaw, startUpstream } from '../support/wire/index.ts';

async function start() {
  const upstream = await startUpstream();
  return startGateway({ upstreamPort: upstream.port, config: { log: { level: 'warn' } } });
}

test('a fault in the admin listener is answered, logged with its stack and counted', async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  const gateway = await start();
  vi.spyOn(MetricSet.prototype, 'text').mockRejectedValueOnce(new TypeError('a broken metric'));
  vi.spyOn(RecentErrors.prototype, 'list', 'get').mockImplementation(() => {
    throw new TypeError('a broken list');
  });
  for (const path of ['/metrics', '/status', '/status.json', '/status.json']) {
    const answer = await gateway.admin(path);
    expect([path, answer.status, JSON.parse(answer.text)]).toEqual([
      path,
      500,
      { code: 13, message: 'The admin listener failed to answer. The log has the cause.', details: [] },
    ]);
  }
  const lines = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'admin');
  const line = { level: 'error', type: 'admin', requests: 1 };
  expect(lines).toMatchObject([
    { ...line, endpoint: 'metrics', cause: expect.stringMatching(/^TypeError: a broken metric\n +at /) },
    { ...line, endpoint: 'status', cause: expect.stringMatching(/^TypeError: a broken list\n +at /) },
  ]);
  const faults = await gateway.metric('weir_admin_faults_total');
  expect([...faults].filter(([, count]) => count > 0)).toEqual([
    ['{endpoint="metrics"}', 1],
    ['{endpoint="status"}', 3],
  ]);
});

test('a client that leaves within its body is no fault', async () => {
  const gateway = await start();
  const client = await connectRaw(gateway.adminPort);
  await client.send(
    'POST /api/restrictions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  );
  client.destroy();
  expect((await gateway.admin('/healthz')).status).toBe(200);
  expect(gateway.logLines.filter(line => line.includes('endpoint'))).toEqual([]);
});
