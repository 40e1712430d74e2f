import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  type AnonymousRestriction,
  KnownClient,
  NO_OTHERS,
  Restrictions,
} from '../../../../src/limits/index.ts';
import { anAddress, beyond } from '../../../support/restricted-clients.ts';
import { FrozenClock } from '../frozen-clock.ts';

const listener = { restricted: () => {}, released: () => {}, prolonged: () => {}, evicted: () => {} };

/** A gateway that has adopted restrictions of two clients that it has not seen. */
function adopted(): Restrictions {
  const clock = new FrozenClock();
  const told: AnonymousRestriction[] = [];
  const other = new Restrictions({
    clock,
    listener,
    others: { ...NO_OTHERS, began: each => told.push(each) },
  });
  const reason = 'invalid_requests';
  other.restrict({ kind: 'address', key: '192.0.2.1', webhook: '', reason }, 60_000);
  other.restrict({ kind: 'principal', key: 'user:app:mallory', webhook: '', reason }, 60_000);
  const restrictions = new Restrictions({ clock, listener, others: NO_OTHERS });
  for (const each of told) restrictions.gossip.adopt(beyond(each));
  return restrictions;
}

test('a client that another gateway restricted is found by its digest', () => {
  const restrictions = adopted();
  for (const [kind, mine, others] of [
    ['address', '192.0.2.1', '192.0.2.2'],
    ['principal', 'user:app:mallory', 'user:app:alice'],
  ] as const) {
    expect(restrictions.waitMs(new KnownClient(kind, others))).toBe(0);
    expect(restrictions.waitMs(new KnownClient(kind, mine))).toBe(60_000);
  }
});

test('a client that was restricted here is found by its name', () => {
  const restrictions = new Restrictions({ clock: new FrozenClock(), listener, others: NO_OTHERS });
  const address = { kind: 'address', key: '192.0.2.1' } as const;
  restrictions.restrict({ ...address, webhook: '', reason: 'invalid_requests' }, 60_000);
  expect(restrictions.waitMs(new KnownClient('address', '192.0.2.1'))).toBe(60_000);
  expect(restrictions.waitMs(new KnownClient('principal', '192.0.2.1'))).toBe(0);
});

test('a check costs no hash while all clients of its kind that are restricted are known by name', () => {
  const hash = countHashes();
  const restrictions = new Restrictions({ clock: new FrozenClock(), listener, others: NO_OTHERS });
  const reason = 'invalid_requests';
  restrictions.restrict({ kind: 'address', key: '192.0.2.1', webhook: '', reason }, 60_000);
  restrictions.gossip.adopt({
    ...{ kind: 'principal', digest: 'digest', reason, forMs: 60_000, lifts: 0 },
    ...{ sinceEpochMs: null, network: '', owner: '' },
  });
  hash.mockClear();
  for (const n of [1, 2]) restrictions.waitMs(anAddress(`192.0.2.${n}`));
  expect(hash).not.toHaveBeenCalled();
});

function countHashes() {
  const hash = vi.spyOn(crypto, 'hash');
  syncBuiltinESMExports();
  onTestFinished(() => {
    hash.mockRestore();
    syncBuiltinESMExports();
  });
  return hash;
}

test('a stream costs one hash for its address and one for its caller, however often it is asked about', () => {
  const restrictions = adopted();
  const hash = countHashes();
  const clients = [new KnownClient('address', '10.0.0.1'), new KnownClient('principal', 'user:app:alice')];
  for (let sweep = 0; sweep < 100; sweep++)
    for (const client of clients) expect(restrictions.waitMs(client)).toBe(0);
  expect(hash).toHaveBeenCalledTimes(2);
});
