import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { listenPlace } from '../../src/core/index.ts';
import { startGateway } from '../support/gateway.ts';
import { startUpstream, values } from '../support/wire/index.ts';

const loopback = networkInterfaces()['lo'] ?? [];
/** Those of this machine: one without IPv6 has the first alone. */
const FAMILIES = ['IPv4', 'IPv6'].flatMap(family => loopback.filter(address => address.family === family));

test.each(FAMILIES)(
  'listeners at [::] answer clients and probes over $family',
  async ({ address, family }) => {
    const upstream = await startUpstream();
    const listen = { http: '[::]:0', admin: '[::]:0' };
    const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen } });
    await gateway.ready();
    const host = family === 'IPv6' ? `[${address}]` : address;
    const statusOf = async (port: number, path: string) =>
      (await fetch(`http://${host}:${port}${path}`)).status;
    expect(await statusOf(gateway.adminPort, '/healthz')).toBe(200);
    expect(await statusOf(gateway.adminPort, '/readyz')).toBe(200);
    expect(await statusOf(gateway.port, '/')).toBe(200);
    expect(values(upstream.onlyRequest.fields, 'X-Forwarded-For')).toEqual([address]);
  },
);

test('where the system has no IPv6, Node.js may listen at IPv4 alone: no host is named', () => {
  expect(listenPlace({ host: '::', port: 1 })).toEqual({ port: 1 });
  expect(listenPlace({ host: '0.0.0.0', port: 1 })).toEqual({ host: '0.0.0.0', port: 1 });
});
