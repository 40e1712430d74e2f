import { expect, test } from 'vitest';
import type { ExchangeRecord } from '../../../../src/core/index.ts';
import { ClientAddress } from '../../../../src/gateway/exchange/client-address.ts';
import type { ValidToken } from '../../../../src/gateway/exchange/connection-memory.ts';
import { Standing } from '../../../../src/gateway/exchange/standing.ts';
import type { GatewayState } from '../../../../src/gateway/gateway-state.ts';
import { WebSocketSession } from '../../../../src/gateway/terminals/web-socket.ts';
import { KnownClient, NO_OTHERS, Restrictions } from '../../../../src/limits/index.ts';
import { AddressSet, DEFAULT_KEYING } from '../../../../src/wire/http/index.ts';
import { MemoryStream } from '../../../support/memory-stream.ts';
import { CLOSE, closePayload, frame } from '../../../support/raw-web-sockets.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const PRINCIPAL = 'user:app:alice';

/** A WebSocket that was opened with a token, and after which the configuration lost all providers. */
function open() {
  const clock = new FrozenClock();
  const silent = { restricted: () => {}, released: () => {}, prolonged: () => {}, evicted: () => {} };
  const restrictions = new Restrictions({ clock, listener: silent, others: NO_OTHERS });
  const finished: ExchangeRecord[] = [];
  const state = {
    clock,
    limiting: { restrictions, blocked: null },
    generation: { identity: null },
    listener: { finished: (record: ExchangeRecord) => finished.push(record) },
  } as unknown as GatewayState;
  let revoked: 'not_before' | null = null;
  const refused: unknown[] = [];
  const verifier = { endOf: () => revoked, refuse: (why: unknown) => refused.push(why) };
  const caller = { principal: PRINCIPAL, expiresAtMs: clock.epochMs() + 60_000 };
  const client = new KnownClient('principal', PRINCIPAL);
  const token = { caller, client, verifier } as unknown as ValidToken;
  const standing = new Standing(
    new ClientAddress('192.0.2.1', DEFAULT_KEYING, new AddressSet([])),
    token,
    true,
  );
  const [peer, upstream] = [new MemoryStream(), new MemoryStream()];
  const session = new WebSocketSession(state, upstream, standing, {
    idleMs: 3_600_000,
    extended: false,
    startedAtMs: clock.monotonicMs(),
  });
  session.start(peer);
  const sweep = () => session.sweep(clock.monotonicMs());
  const revoke = () => {
    revoked = 'not_before';
  };
  return { clock, restrictions, client: peer, sweep, revoke, refused };
}

const close = (reason: string) => frame(closePayload(1008, reason), { opcode: CLOSE });

test('a WebSocket ends with its token after a reload that removed the provider', () => {
  const { clock, client, sweep, refused } = open();
  sweep();
  expect(client.written).toHaveLength(0);
  clock.advance(60_000);
  sweep();
  expect(client.written).toEqual(close('token expired'));
  expect(refused).toEqual([expect.objectContaining({ reason: 'expired' })]);
});

test('a WebSocket ends when its token is revoked after such a reload', () => {
  const { client, sweep, revoke, refused } = open();
  revoke();
  sweep();
  sweep();
  expect(client.written).toEqual(close('token revoked'));
  expect(refused).toEqual([expect.objectContaining({ reason: 'not_before' })]);
});

test.each([
  ['address', '192.0.2.1'],
  ['principal', PRINCIPAL],
] as const)('a WebSocket ends when its %s is restricted', (kind, key) => {
  const { client, sweep, restrictions } = open();
  restrictions.restrict({ kind, key, webhook: '', reason: 'operator' }, 60_000);
  sweep();
  expect(client.written).toEqual(close('restricted'));
});
