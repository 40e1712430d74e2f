import { describe, expect, test } from 'vitest';
import { clientLateness, type Http1Phase } from '../../../../src/edge/server/http1-lateness.ts';
import { RecordingGateway } from '../../../support/fuzz/recording-gateway.ts';
import { listenerState } from '../../../support/listener-state.ts';

const STATE = {
  ...listenerState(new RecordingGateway('prompt').asGateway, 16_384),
  timeouts: {
    tlsHandshakeMs: 10_000,
    clientHeaderMs: 3_000,
    clientBodyIdleMs: 4_000,
    clientReadMs: 5_000,
    keepAliveMs: 6_000,
    maxConnectionAgeMs: null,
  },
};
const WAIT = {
  ...{ nowMs: 100_000, waitedMs: 0, isTooSlow: false, readsTooSlowly: false },
  ...{ insideHead: false, halfClosed: false },
};

/** The status that the client is answered with, or what becomes of its connection. */
function of(phase: Http1Phase, wait: Partial<typeof WAIT>, draining = false): unknown {
  const late = clientLateness(phase, { ...STATE, draining }, { ...WAIT, ...wait });
  return late === null || typeof late === 'string' ? late : late.status;
}

function exchange(downstream: { awaitsReader?: boolean; awaitsClient?: boolean }): Http1Phase {
  const waits = { awaitsReader: false, awaitsClient: false, ...downstream };
  return { name: 'exchange', downstream: waits } as Http1Phase;
}

test('a head is late by the time since it began, however its bytes come', () => {
  const since = (sinceMs: number): Http1Phase => ({ name: 'head', sinceMs });
  expect(of(since(97_000), { insideHead: true })).toBeNull();
  expect(of(since(96_999), { insideHead: true })).toBe(408);
  expect(of(since(96_999), {})).toBe(408);
});

test('an idle connection closes a second after the announced time, and soon while draining', () => {
  const idle: Http1Phase = { name: 'head', sinceMs: null };
  expect(of(idle, { waitedMs: 7_000 })).toBeNull();
  expect(of(idle, { waitedMs: 7_001 })).toBe('close');
  expect(of(idle, { waitedMs: 7_001, insideHead: true })).toBeNull();
  expect(of(idle, { waitedMs: 1_000 }, true)).toBeNull();
  expect(of(idle, { waitedMs: 1_001 }, true)).toBe('close');
});

describe('in an exchange', () => {
  test.each([
    ['the client is not awaited', {}, { waitedMs: 99_000 }, 'not awaited'],
    ['its body is late', { awaitsClient: true }, { waitedMs: 4_001 }, 408],
    ['its body comes in time', { awaitsClient: true }, { waitedMs: 4_000 }, null],
    ['its body comes too slowly', { awaitsReader: true }, { isTooSlow: true }, 408],
    ['it takes the response too slowly', { awaitsReader: true }, { readsTooSlowly: true }, 'close'],
    ['it takes the response in time', { awaitsReader: true, awaitsClient: true }, { waitedMs: 5_001 }, null],
    ['it has closed its side', {}, { halfClosed: true, waitedMs: 1_000 }, 'close'],
    ['it has just closed its side', { awaitsReader: true }, { halfClosed: true, waitedMs: 999 }, null],
  ] as const)('%s', (_, downstream, wait, late) => {
    expect(of(exchange(downstream), wait)).toBe(late);
  });
});

test.each<[string, Http1Phase, Partial<typeof WAIT>, Partial<typeof WAIT>]>([
  ['the rest of a body stands still', { name: 'discarding body' }, { waitedMs: 4_000 }, { waitedMs: 4_001 }],
  ['the rest of a body is too slow', { name: 'discarding body' }, {}, { isTooSlow: true }],
  ['it is quiet', { name: 'lingering', sinceMs: 99_000 }, { waitedMs: 1_999 }, { waitedMs: 2_000 }],
  ['it has lingered', { name: 'lingering', sinceMs: 95_001 }, {}, { nowMs: 100_001 }],
  ['its socket does not close', { name: 'closed' }, { waitedMs: 1_999 }, { waitedMs: 2_000 }],
])('a connection closes when %s for too long, and not before', (_, phase, inTime, late) => {
  expect(of(phase, inTime)).toBeNull();
  expect(of(phase, late)).toBe('close');
});
