import { afterEach, expect, test } from 'vitest';
import { GatewayError } from '../../src/core/index.ts';
import type { ProviderOptions } from '../../src/identity/signin/index.ts';
import {
  type Script,
  type ScriptedOptions,
  scripts,
  startScriptedProvider,
} from '../support/scripted-provider.ts';
import { openSignInRoom } from '../support/sign-in-room.ts';
import { inTime } from '../support/test-clock.ts';

const REDIRECT = 'https://app.example/cb';
const REQUEST = { code: 'code', redirectUri: REDIRECT };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function provider(options: ScriptedOptions = {}) {
  const fake = await startScriptedProvider(options);
  cleanups.push(fake.close);
  return fake;
}

function open(issuer: string, options: Partial<ProviderOptions> = {}) {
  const room = openSignInRoom({ issuer, timeoutMs: 10_000, ...options }, { redirectUri: REDIRECT });
  cleanups.push(room.close);
  return room;
}

test('a provider that is down at the start is found when it comes up; until then clients are asked to retry', async () => {
  const fake = await provider();
  await fake.close();
  const room = open(fake.issuer);
  await room.time.advanceUntil('it has asked', () => room.discovered.length > 0, 100);
  expect(room.discovered[0]).toMatchObject({ outcome: 'failed', failures: 1, ready: false });
  expect(room.discovered[0]?.cause?.message).toBe(`cannot connect to ${fake.issuer}: ECONNREFUSED`);

  const refusal = room.signIn.authorizeUrl();
  expect(refusal).toBeInstanceOf(GatewayError);
  expect(refusal).toMatchObject({ status: 503, rpcCode: 14, fields: ['Retry-After', '5'] });
  expect(await room.redeem(REQUEST)).toMatchObject({ status: 503, rpcCode: 14 });
  expect(room.redeemed).toMatchObject([{ outcome: 'not_ready' }]);

  await provider({ port: fake.port });
  await inTime(room.time, room.ready());
  expect(room.signIn.authorizeUrl()).toMatchObject({ status: 200 });
  expect(await room.redeem(REQUEST)).toHaveProperty('accessToken');
  expect(room.discovered.at(-1)).toMatchObject({ outcome: 'learnt', failures: 0, ready: true, cause: null });
});

test.each<[string, Script]>([
  ['hangs within its response', scripts.hangInBody],
  ['redirects', scripts.redirect('/elsewhere')],
  ['answers 64 MB', scripts.huge(64_000_000)],
  ['answers an array', scripts.json(200, [])],
])('a discovery that %s fails in time and is tried again', async (_name, script) => {
  const fake = await provider();
  const good = fake.discovery;
  fake.discovery = script;
  const room = open(fake.issuer);
  await room.time.advanceUntil('it has asked', () => room.discovered.length > 0, 100);
  expect(room.discovered[0]).toMatchObject({ outcome: 'failed', ready: false });
  fake.discovery = good;
  await inTime(room.time, room.ready());
  expect(room.signIn.authorizeUrl()).toMatchObject({ status: 200 });
});

test('a provider with another name inside the cluster is discovered and asked there and named as outside', async () => {
  const fake = await provider({
    document: {
      issuer: 'https://id.example.com',
      authorization_endpoint: 'https://id.example.com/authorize',
    },
  });
  const room = open('https://id.example.com', { discoveryUrl: `${fake.issuer}/anything` });
  await inTime(room.time, room.ready());
  expect(room.provider.metadata).toEqual({
    issuer: 'https://id.example.com',
    authorizationEndpoint: 'https://id.example.com/authorize',
    tokenEndpoint: `${fake.issuer}/token`,
    keySetUrl: `${fake.issuer}/keys`,
    revocationEndpoint: `${fake.issuer}/revoke`,
    introspectionEndpoint: `${fake.issuer}/introspect`,
    endSessionEndpoint: `${fake.issuer}/logout`,
  });
  expect(await room.redeem(REQUEST)).toHaveProperty('accessToken');
});
