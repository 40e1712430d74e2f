import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../support/free-port.ts';
import { startGateway } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { atEnd } from '../support/lifetime.ts';
import { head } from '../support/requests.ts';
import { expectSecretsKept, secret } from '../support/secrets.ts';
import { tempText } from '../support/temp.ts';
import { startUpstream } from '../support/wire/index.ts';
import { GOOGLE_USERS } from './imitations/index.ts';

const CLIENT = 'gateway.apps.googleusercontent.com';
/** What https://oauth2.googleapis.com/tokeninfo says: numbers are texts. */
const TOLD = {
  ...{ azp: CLIENT, aud: CLIENT, sub: '1093', scope: 'openid', access_type: 'offline', expires_in: '300' },
  exp: String(Math.floor(Date.now() / 1_000) + 300),
};

/** A server that answers as `tokeninfo` does about the tokens that it knows. */
async function startTokenInfo(known: ReadonlyMap<string, readonly [status: number, body: object]>) {
  const server = createServer(({ url = '' }, response) => {
    const token = new URL(url, 'http://tokeninfo').searchParams.get('access_token') ?? '';
    const [status, body] = known.get(token) ?? [400, { error_description: 'Invalid Value' }];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done));
  atEnd(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/tokeninfo`;
}

/** The program of docs/opaque-tokens.md; returns where it listens. */
async function startTranslator(tokenInfo: string): Promise<string> {
  const page = await readFile('docs/opaque-tokens.md', 'utf8');
  const [, program = ''] = /```js\n\/\/ google-tokens\.mjs\n(.*?)```/s.exec(page) ?? [];
  const port = await freePort();
  const file = await tempText('google-tokens.mjs', program);
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, PORT: String(port), TOKENINFO: tokenInfo },
    stdio: 'inherit',
  });
  atEnd(() => void child.kill());
  const url = `http://127.0.0.1:${port}/`;
  const answers = () =>
    fetch(url, { method: 'POST' }).then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(answers).toBe(200);
  return url;
}

test('the program of docs/opaque-tokens.md makes answers of tokeninfo such as the gateway wants', async () => {
  const [good, foreign, nameless, away] = ['good', 'foreign', 'nameless', 'away'].map(name =>
    secret(`ya29.${name}-token-of-google`),
  );
  const other = 'app.apps.googleusercontent.com';
  const tokenInfo = await startTokenInfo(
    new Map([
      [good ?? '', [200, TOLD]],
      [foreign ?? '', [200, { ...TOLD, aud: other, azp: other }]],
      [nameless ?? '', [200, { ...TOLD, sub: undefined }]],
      [away ?? '', [500, {}]],
    ]),
  );
  const { identity_provider: written, access_tokens } = parse(GOOGLE_USERS.config);
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      identity_provider: {
        ...written,
        client_secret_file: await tempText('client-secret', secret('imitated-client-secret')),
        endpoints: {
          introspection: await startTranslator(tokenInfo),
          ...{
            authorization: 'https://accounts.google.com/o/oauth2/v2/auth',
            token: 'https://oauth2.googleapis.com/token',
          },
          key_set: `${tokenInfo}/keys`,
        },
      },
      access_tokens,
      routes: [{ path: '/**', upstream: 'api' }],
      log: { level: 'trace', access: true },
    },
  });
  const ask = async (token: string | undefined) => {
    const { status } = await gateway.ask(head('GET /a', `Authorization: Bearer ${token}`));
    return [status, accessLines(gateway).at(-1)?.['tokenRefused']];
  };
  expect(await ask(good)).toEqual([200, undefined]);
  expect(await ask(foreign)).toEqual([401, 'audience']);
  expect(await ask(nameless)).toEqual([401, 'claim']);
  expect(await ask('ya29.unknown')).toEqual([401, 'inactive']);
  expect((await ask(away))[0]).toBe(503);
  await expectSecretsKept(gateway);
});
