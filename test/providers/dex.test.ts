import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, expect, test } from 'vitest';
import { buildGo } from '../support/go.ts';
import { atEnd, shared } from '../support/lifetime.ts';
import { expectSecretsKept } from '../support/secrets.ts';
import { DEX_ROW } from './imitations/index.ts';
import { REDIRECT, startBefore } from './real-provider.ts';

// Dex v2.13.0, the newest that the module proxy has: later versions have no module path of their major version. Its ID tokens are those
// of today, its access tokens are still opaque.

const FOLDER = join(import.meta.dirname, 'dex');

/** The first build takes half a minute of processor time. */
const BUILD_MS = 600_000;
let program = '';
beforeAll(() => {
  program = buildGo(FOLDER);
}, BUILD_MS);

/** The configuration of the row for a Dex that runs here. */
const rowOfDex = shared(async () => {
  const dex = spawn(program, [REDIRECT], { cwd: FOLDER, stdio: ['ignore', 'pipe', 'inherit'] });
  atEnd(() => void dex.kill());
  const [issuer] = await once(createInterface(dex.stdout), 'line');
  return DEX_ROW.config.replaceAll('https://dex.example.com', issuer);
});

test('Dex itself signs users in, and its ID tokens for the audience pass as the configuration says', async () => {
  const { gateway, upstream, signIn, refresh, refreshRefused, ask, handedOut } = await startBefore(
    await rowOfDex(),
    'dex-secret',
  );
  const signedIn = await signIn();
  const refreshed = await refresh(signedIn.refreshToken);
  for (const { idToken } of [signedIn, refreshed]) expect(await ask(idToken)).toBe('200');
  expect(upstream.requests[0]?.fields.join()).toMatch(/x-user,Cg0wLTM4NS0yODA4OS0wEgRtb2Nr/i);
  // A used one: Dex says invalid_request.
  expect(await refreshRefused(signedIn.refreshToken)).toBe(401);
  for (const { refreshToken } of [signedIn, refreshed]) expect(await ask(refreshToken)).toBe('401 malformed');
  expect(await ask(signedIn.accessToken)).toBe('401 malformed');
  expect(handedOut()).toEqual([expect.stringContaining('"reason":"malformed"')]);
  await expectSecretsKept(gateway);
});

test('ID tokens of Dex are refused where nothing accepts them, and those for the client alone in any case', async () => {
  const row = await rowOfDex();
  const strict = await startBefore(row, 'dex-secret', { accessTokens: { token_kind: 'access' } });
  const { idToken } = await strict.signIn();
  expect(await strict.ask(idToken)).toBe('401 token_kind');
  const plain = await startBefore(row.replace(' audience:server:client_id:api', ''), 'dex-secret');
  expect(await plain.ask((await plain.signIn()).idToken)).toBe('401 audience');
});
