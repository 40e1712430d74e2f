import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { changeConfig } from '../support/edit-config.ts';
import { freePort } from '../support/free-port.ts';
import { startGateway } from '../support/gateway.ts';
import { tempText } from '../support/temp.ts';
import { startTlsGateway } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';

/** Runs `weir health` in this process. */
async function health(...args: readonly string[]) {
  let [out, err] = ['', ''];
  const code = await runCommandLine(['health', ...args], {
    env: { ADMIN: '127.0.0.1:1' },
    out: text => {
      out += text;
    },
    err: text => {
      err += text;
    },
  });
  return { code, out, err };
}

/** A gateway.yaml that says where a gateway's admin listener is, and is wrong otherwise. */
function configOf(admin: string): Promise<string> {
  return tempText('gateway.yaml', `listen: { admin: ${admin} }\nroutes: [{ path: 7 }]\nnonsense: true\n`);
}

test('a gateway is well and ready; errors elsewhere in the file change nothing', async () => {
  const gateway = await startGateway({ upstreamPort: 1 });
  const file = await configOf(`"127.0.0.1:${gateway.adminPort}"`);
  expect(await health(file)).toEqual({ code: 0, out: 'ok\n', err: '' });
  expect(await health(file, '--ready')).toMatchObject({ code: 0, err: '' });
});

test('a gateway that does not follow its provider yet is well, but not ready', async () => {
  const identity_provider = {
    issuer: 'http://127.0.0.1:1',
    client_id: 'gateway',
    redirect_uri: 'http://127.0.0.1/',
    client_authentication: 'none',
  };
  const config = { identity_provider, access_tokens: { audience: 'api' } };
  const gateway = await startGateway({ upstreamPort: 1, config });
  const file = await configOf(`"127.0.0.1:${gateway.adminPort}"`);
  expect(await health(file)).toMatchObject({ code: 0 });
  expect(await health(file, '--ready')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^weir health: 503 ./),
  });
});

test('all addresses of the machine are asked at the loopback one', async () => {
  const gateway = await startGateway({
    upstreamPort: 1,
    config: { listen: { http: '127.0.0.1:0', admin: '0.0.0.0:0' } },
  });
  expect(await health(await configOf(`"0.0.0.0:${gateway.adminPort}"`))).toMatchObject({ code: 0 });
});

test('an admin listener with TLS is asked over TLS, whatever the names of its certificate', async () => {
  const { gateway, folder } = await startTlsGateway();
  const files = { certificate_file: join(folder, '0.crt'), key_file: join(folder, '0.key') };
  const tls = { certificates: [files] };
  await changeConfig(gateway, {
    listen: { http: { address: '127.0.0.1:0', tls }, admin: { address: '127.0.0.1:0', tls } },
  });
  const file = await configOf(JSON.stringify({ address: `127.0.0.1:${gateway.adminPort}`, tls }));
  await waitFor('it speaks TLS', async () => (await health(file)).code === 0);
});

test('weir health says what keeps it from asking', async () => {
  const port = await freePort();
  const closed = await configOf(`"127.0.0.1:${port}"`);
  const failures: readonly [string, RegExp][] = [
    [closed, new RegExp(`^weir health: no response from 127.0.0.1:${port} .*: .*ECONNREFUSED`)],
    [await configOf('"off"'), /listen.admin of .* is off: there is nothing to ask$/m],
    [await configOf('"here"'), /listen.admin is not an address$/m],
    [await tempText('gateway.yaml', 'listen: ['), /gateway.yaml:\d+:\d+: /],
    [await configOf(`"\${ADMIN}"`), /^weir health: no response from 127.0.0.1:1 /],
    ['/nowhere/gateway.yaml', /^weir health: \/nowhere\/gateway.yaml/],
  ];
  for (const [file, message] of failures)
    expect(await health(file)).toEqual({ code: 1, out: '', err: expect.stringMatching(message) });
});

test('a listener that never responds is not waited for', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const result = await health(await configOf(`"127.0.0.1:${port}"`));
  silent.close();
  expect(result).toMatchObject({ code: 1, err: expect.stringContaining('no response from') });
});
