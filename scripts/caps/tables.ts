import { Connection, requestText } from '../../bench/load/connection.ts';
import { sendEach } from '../../bench/load/send-each.ts';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import { CAP_COSTS } from '../../src/config/index.ts';
import { signToken } from '../../test/support/token-issuer.ts';
import type { Closable, Filling, Target } from './fillings.ts';
import { TRUSTING, withProvider } from './with-provider.ts';

/** What the next client is called: each is another one. */
let last = 0;

type Fields = Readonly<Record<string, string>>;

const BATCH = 500;
/** Any request adds one, so only what clients send bounds how many there are. */
const REQUESTS = { protocol: 'any', gauge: 'weir_requests_total', each: BATCH } as const;

const TOKENS = { cap: CAP_COSTS.tokens.key, most: CAP_COSTS.tokens.most } as const;

/** What the gateway remembers of clients after their requests: tables that callers fill, an entry with each request or two. */
export const TABLES: readonly Filling[] = [
  {
    ...{ protocol: 'any', what: 'comes from a new address, which is counted' },
    ...{
      cap: CAP_COSTS.limitKeys.key,
      most: CAP_COSTS.limitKeys.most,
      measured: 300_000,
      gauge: 'weir_limit_keys',
      each: BATCH,
    },
    limits: { global: { address: '60000/1h' } },
    config: () => TRUSTING,
    open: target => sendBatch(target, () => ['/small', fromAddress()]),
  },
  {
    ...REQUESTS,
    ...{ what: 'breaks rules, and is counted for it', cap: null, most: 200_000, measured: 50_000 },
    limits: { invalid_requests: { limit: '100/1h', restrict_for: '1h' } },
    config: withProvider,
    open: target => sendBatch(target, () => ['/small/mine', fromAddress()]),
  },
  {
    ...{ ...REQUESTS, gauge: 'weir_restricted' },
    ...{ what: 'breaks rules, and is restricted', cap: null, most: 100_000, measured: 20_000 },
    limits: { invalid_requests: { limit: '1/1h', restrict_for: '1h' } },
    config: withProvider,
    open: target =>
      sendBatch(
        target,
        thrice(() => ['/small/mine', fromAddress()]),
        3 * BATCH,
      ),
  },
  {
    ...REQUESTS,
    ...{ what: 'sends a wrong token from a new address', cap: null, most: 200_000, measured: 50_000 },
    limits: { failed_verifications: '50/1h' },
    config: withProvider,
    open: t => sendBatch(t, () => ['/small/mine', { ...fromAddress(), ...bearer(forged(t)) }]),
  },
  {
    ...REQUESTS,
    ...{ what: 'sends wrong tokens', cap: null, most: 10_000, measured: 4_000 },
    config: withProvider,
    open: t => sendBatch(t, () => ['/small/mine', bearer(forged(t))]),
  },
  {
    ...REQUESTS,
    ...{ what: 'sends a new token', ...TOKENS, measured: 20_000 },
    config: withProvider,
    open: t => sendBatch(t, () => ['/small/mine', bearer(tokenOf(t))]),
  },
  {
    ...REQUESTS,
    ...{ what: 'sends a new token, of which the provider is asked', ...TOKENS, measured: 10_000 },
    config: withProvider,
    open: t => sendBatch(t, () => ['/small/asked', bearer(tokenOf(t))]),
  },
  {
    ...{ ...REQUESTS, gauge: 'weir_revocations' },
    ...{ what: 'is signed out by the provider', cap: null, most: 100_000, measured: 10_000 },
    config: withProvider,
    open: signOuts,
  },
  {
    ...REQUESTS,
    ...{ what: 'asks for a new path, with the access log', cap: null, most: 40_000, measured: 9_000 },
    config: () => ({ log: { access: true } }),
    open: t => sendBatch(t, () => [`/small/${'-'.repeat(230)}${++last}`, {}]),
  },
  {
    ...{ protocol: 'HTTP/1.1', what: 'is held until its limit has room', cap: null, most: 1_000 },
    ...{ measured: 900, gauge: 'weir_requests_in_flight', each: 1 },
    limits: { patience: '1s', buckets: { one: { address: '1/1s' } }, routes: { '/small/held': 'one' } },
    config: () => TRUSTING,
    open: heldForever,
  },
];

/** A client behind a trusted proxy. */
function fromAddress(): Fields {
  const number = ++last;
  return { 'X-Forwarded-For': [10, number >> 16, (number >> 8) & 255, number & 255].join('.') };
}

function bearer(token: string): Fields {
  return { Authorization: `Bearer ${token}` };
}

function tokenOf({ issuer, key }: Target): string {
  const now = Math.floor(Date.now() / 1_000);
  const sub = `caller-${++last}-${'-'.repeat(20)}`;
  return signToken(key, {
    iss: issuer,
    aud: 'api',
    azp: 'app',
    sub,
    typ: 'Bearer',
    iat: now,
    exp: now + 3_000,
  });
}

/** Signed with another's signature. */
function forged(target: Target): string {
  const [head, payload] = tokenOf(target).split('.');
  return `${head}.${payload}.${Buffer.alloc(64, 1).toString('base64url')}`;
}

/** Makes each request three times. */
function thrice<One>(make: () => One): () => One {
  let times = 0;
  let one = make();
  return () => {
    if (times++ % 3 === 0) one = make();
    return one;
  };
}

async function sendBatch(
  { port }: Target,
  make: () => readonly [string, Fields],
  count = BATCH,
): Promise<Closable> {
  const requests = function* () {
    for (let i = 0; i < count; i++) yield requestText(...make());
  };
  await sendEach(port, requests(), 1);
  return { destroy() {} };
}

/** Logout tokens as providers send them, one for each session. */
async function signOuts({ port, issuer, key }: Target): Promise<Closable> {
  const connection = await Connection.open(port);
  for (let i = 0; i < BATCH; i++) {
    const iat = Math.floor(Date.now() / 1_000);
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const claims = { iss: issuer, aud: GATEWAY_CLIENT.id, iat, exp: iat + 120, jti: `id-${++last}`, events };
    const token = signToken(key, { ...claims, sid: `session-${last}` }, { typ: 'logout+jwt' });
    const body = `logout_token=${token}`;
    const form = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`];
    const head = ['POST /idp/logout HTTP/1.1', 'Host: caps', ...form];
    await connection.ask(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
  connection.close();
  return { destroy() {} };
}

/** Sends the next request as soon as the one before was answered. */
async function heldForever({ port }: Target): Promise<Closable> {
  const connection = await Connection.open(port);
  const request = requestText('/small/held', fromAddress());
  const repeat = async (): Promise<void> => {
    for (;;) await connection.ask(request);
  };
  repeat().catch(() => {});
  return { destroy: () => connection.close() };
}
