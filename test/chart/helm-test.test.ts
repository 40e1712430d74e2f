import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { Rendered } from './chart.ts';

/** Runs the pod of "helm test" here, with these addresses in place of those of the Services. */
async function runTestPod(addresses: Readonly<Record<string, string>>) {
  const [container] = (await Rendered.of({})).one('Pod').parts('spec.containers');
  const [, ...words] = [container?.at('command'), container?.at('args')].flat().map(String);
  return new Promise<{ code: number | null; out: string }>(done => {
    const child = execFile(
      process.execPath,
      words,
      { env: { ...process.env, ...addresses } },
      (_, out, err) => done({ code: child.exitCode, out: out + err }),
    );
  });
}

describe('helm test', () => {
  it('asks over both Services', async () => {
    const rendered = await Rendered.of({}, { file: 'full-values.yaml' });
    expect(rendered.one('Pod').at('spec.containers.0.env')).toEqual([
      { name: 'READY', value: 'http://edge-admin:9000/readyz' },
      { name: 'CLIENT', value: 'http://edge:8000/' },
    ]);
  });

  it('does not ask as a client where only a balancer with PROXY headers can', async () => {
    const rendered = await Rendered.of({}, { file: 'tls-values.yaml' });
    expect(rendered.one('Pod').at('spec.containers.0.env')).toEqual([
      { name: 'READY', value: 'https://weir-admin:9090/readyz' },
      { name: 'NODE_TLS_REJECT_UNAUTHORIZED', value: '0' },
    ]);
  });

  it('passes when the gateway is ready and answers a client', async () => {
    const { client, admin } = await addresses();
    const { code, out } = await runTestPod({ READY: `${admin}/readyz`, CLIENT: `${client}/` });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/readyz: 200[\s\S]*: 502/) });
  });

  it('fails when something else answers, or nothing', async () => {
    const { admin } = await addresses();
    const READY = `${admin}/readyz`;
    expect(await runTestPod({ READY, CLIENT: `${admin}/healthz` })).toMatchObject({ code: 1 });
    expect(await runTestPod({ READY: `${admin}/nowhere` })).toMatchObject({ code: 1 });
    expect(await runTestPod({ READY: 'http://127.0.0.1:1/readyz' })).toMatchObject({ code: 1 });
  });
});

/** Starts a gateway without an upstream and returns where it is. */
async function addresses() {
  const gateway = await startGateway({ upstreamPort: 1 });
  await gateway.ready();
  return { client: `http://127.0.0.1:${gateway.port}`, admin: `http://127.0.0.1:${gateway.adminPort}` };
}
