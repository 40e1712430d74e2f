import { describe, expect, it } from 'vitest';
import { RpcCode } from '../../../src/core/index.ts';
import { Tally } from '../../../src/observe/metrics/metric-set.ts';
import { Recent } from '../../../src/observe/recent.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';
import { exchangeRecord } from './exchange-record.ts';

const clock = new FrozenClock();
const NOW = clock.epochMs();

function made() {
  const decisions = new Tally();
  const upstreams = new Set(['api']);
  const inShadow = new Tally();
  const byRestriction = new Tally();
  const recent = new Recent(clock, { decisions, inShadow, byRestriction }, () => upstreams);
  return { decisions, inShadow, byRestriction, upstreams, recent };
}

describe('decisions', () => {
  it('are admitted and refused ones of a bucket and class, whichever limit refused', () => {
    const { decisions, inShadow, recent } = made();
    inShadow.of('all').of('user').of('caller').count = 4;
    const ofClass = decisions.of('all').of('user');
    ofClass.of('admitted').of('').count = 5;
    ofClass.of('caller').count = 2;
    ofClass.of('global').count = 1;
    const counts = { admitted: 5, refused: 3, shadowRefused: 4, restricted: 0 };
    expect(recent.decisions.of('all', 'user')).toEqual({ lastMinute: counts, lastHour: counts });
    for (let tick = 0; tick < 20; tick++) recent.advance();
    ofClass.of('admitted').of('').count++;
    expect(recent.decisions.of('all', 'user')).toEqual({
      lastMinute: { admitted: 1, refused: 0, shadowRefused: 0, restricted: 0 },
      lastHour: { admitted: 6, refused: 3, shadowRefused: 4, restricted: 0 },
    });
    const none = { admitted: 0, refused: 0, shadowRefused: 0, restricted: 0 };
    expect(recent.decisions.of('other', 'user')).toEqual({ lastMinute: none, lastHour: none });
  });

  it('of restrictions count for their class, without a bucket', () => {
    const { decisions, byRestriction, recent } = made();
    decisions.of('none').of('address');
    byRestriction.of('address').of('invalid_requests').count = 7;
    byRestriction.of('address').of('blocked').count = 1;
    for (let tick = 0; tick < 20; tick++) recent.advance();
    byRestriction.of('address').of('blocked').count++;
    const { lastMinute, lastHour } = recent.decisions.of('none', 'address');
    expect([lastMinute.restricted, lastHour.restricted]).toEqual([1, 9]);
    expect(recent.decisions.of('all', 'address').lastHour.restricted).toBe(0);
  });

  it('of a bucket that a reload removed and another one brought back begin anew', () => {
    const { decisions, recent } = made();
    decisions.of('all').of('user').of('admitted').of('').count = 5;
    recent.advance();
    decisions.parts.delete('all');
    recent.advance();
    decisions.of('all').of('user').of('admitted').of('').count = 1;
    expect(recent.decisions.of('all', 'user').lastHour.admitted).toBe(1);
  });
});

describe('callers', () => {
  const event = { bucket: null, callerClass: 'user', caller: 'user:a', period: '', nearLimit: true } as const;

  it('are listed as refused or as near their limit', () => {
    const { recent } = made();
    recent.callers.decided({ ...event, outcome: 'global' });
    recent.callers.decided({ ...event, caller: 'user:b', outcome: 'admitted' });
    recent.callers.decided({ ...event, caller: 'user:c', outcome: 'admitted', nearLimit: false });
    const counts = { count: 1, maxCount: 1, restricted: 0 };
    const entry = { callerClass: 'user', bucket: 'none', ...counts, sinceMs: NOW, lastMs: NOW };
    expect(recent.callers.refused).toEqual([{ caller: 'user:a', why: 'global', ...entry }]);
    expect(recent.callers.nearLimit).toEqual([{ caller: 'user:b', why: 'admitted', ...entry }]);
  });

  it('have what is left of a long quota that refused last or is nearly used up', () => {
    const { recent } = made();
    const quota = { period: 'day', limit: 10, remaining: 1, resetAtMs: NOW + 1_000 };
    recent.callers.decided({ ...event, outcome: 'admitted', quota: { ...quota, remaining: 2 } });
    recent.callers.decided({ ...event, outcome: 'admitted', quota });
    recent.callers.decided({ ...event, outcome: 'caller', quota });
    expect(recent.callers.nearLimit).toEqual([expect.objectContaining({ quota })]);
    expect(recent.callers.refused).toEqual([expect.objectContaining({ quota })]);
    recent.callers.decided({ ...event, outcome: 'global' });
    expect(recent.callers.refused[0]?.quota).toBeUndefined();
    const other = made().recent;
    other.add(recent.take());
    expect(other.callers.nearLimit).toEqual([expect.objectContaining({ quota })]);
  });

  it('that restrictions refuse are among the refused, with the last reason', () => {
    const { recent } = made();
    const address = { callerClass: 'address', caller: '192.0.2.1' } as const;
    recent.callers.decided({ ...event, ...address, outcome: 'global' });
    for (const why of ['invalid_requests', 'operator'] as const)
      recent.callers.refusedByRestriction({ ...address, why });
    expect(recent.callers.refused).toEqual([
      expect.objectContaining({ ...address, bucket: 'none', count: 3, restricted: 2, why: 'operator' }),
    ]);
  });
});

describe('errors', () => {
  const error = { message: 'failed', side: 'upstream', cap: null, cause: 'ECONNREFUSED: refused' } as const;

  it('of an upstream are counted with the last cause', () => {
    const { recent } = made();
    recent.errors.heard.finished(exchangeRecord({ upstream: 'api', error }));
    recent.errors.heard.finished(exchangeRecord({ upstream: 'api', error: null, outcome: 'truncated' }));
    const counts = { count: 2, lastMinute: 2, lastHour: 2, lastAtMs: NOW };
    expect(recent.errors.ofUpstream('api')).toEqual({
      kind: 'api',
      ...counts,
      cause: 'the response broke off',
    });
    expect(recent.errors.list).toEqual([]);
  });

  it('of an upstream that a reload removed are forgotten', () => {
    const { recent, upstreams } = made();
    recent.errors.heard.finished(exchangeRecord({ upstream: 'api', error }));
    upstreams.clear();
    recent.advance();
    expect(recent.errors.ofUpstream('api')).toBeNull();
  });

  it('of clients are not kept, but for the reasons why tokens are refused', () => {
    const { recent } = made();
    recent.errors.heard.finished(
      exchangeRecord({ error: { ...error, side: 'client', cause: 'written by a client' } }),
    );
    recent.errors.heard.finished(exchangeRecord({ error: null }));
    recent.errors.heard.tokenRefused('claim', 'sub');
    expect(recent.errors.list).toMatchObject([{ kind: 'token refused: claim', count: 1, cause: 'sub' }]);
  });

  it('of each other kind are told with their last cause, cut to 300 characters', () => {
    const { recent } = made();
    const { errors } = recent;
    errors.heard.finished(exchangeRecord({ error: { ...error, cap: 'requests', side: 'gateway' } }));
    errors.heard.finished(exchangeRecord({ error: { ...error, side: 'gateway', cause: 'x'.repeat(5_000) } }));
    errors.heard.keySetFailed(new Error('no keys'));
    errors.heard.discovered({
      outcome: 'failed',
      failures: 1,
      nextMs: 1,
      ready: false,
      cause: new Error('no document'),
    });
    errors.heard.discovered({ outcome: 'learnt', failures: 0, nextMs: 1, ready: true, cause: null });
    errors.heard.failed('timeout', 'no reply');
    errors.heard.handshakeEnded('http', 'full');
    errors.heard.handshakeEnded('http', 'malformed');
    errors.heard.http2Closed('resets');
    errors.heard.proxyHeaderRefused('late');
    errors.heard.budgetSpent();
    errors.heard.evicted({
      ...{ kind: 'address', reason: 'invalid_requests', key: '192.0.2.1', untilEpochMs: NOW },
      table: 'address',
    });
    expect(errors.list.map(({ kind, cause }) => [kind, cause?.length === 300 ? 'cut' : cause])).toEqual([
      ['cap requests', null],
      ['gateway', 'cut'],
      ['keys of the provider', 'no keys'],
      ['discovery of the provider', 'no document'],
      ['Redis: timeout', 'no reply'],
      ['TLS handshake: malformed', 'listen.http'],
      ['HTTP/2: resets', null],
      ['PROXY protocol: late', null],
      ['signatures not checked: too many bad ones from an address', null],
      ['restriction ended early for lack of room', 'invalid_requests'],
    ]);
  });

  it('of a sign-in are those that are not the fault of the client', () => {
    const { recent } = made();
    const told = {
      status: 502,
      rpcCode: RpcCode.unavailable,
      fields: [],
      details: [],
      close: false,
      cap: null,
    };
    const redeemed = { grant: 'code', durationMs: 1 } as const;
    recent.errors.heard.redeemed({ ...redeemed, outcome: 'success', error: null });
    recent.errors.heard.redeemed({
      ...redeemed,
      outcome: 'code_refused',
      error: { ...told, side: 'client', message: 'spent', cause: undefined },
    });
    recent.errors.heard.redeemed({
      ...redeemed,
      outcome: 'unreachable',
      error: { ...told, side: 'provider', message: 'failed', cause: new Error('ECONNREFUSED') },
    });
    recent.errors.heard.redeemed({
      ...redeemed,
      grant: 'refresh_token',
      outcome: 'timed_out',
      error: { ...told, side: 'provider', message: 'too slow', cause: undefined },
    });
    expect(recent.errors.list.toSorted((a, b) => b.kind.localeCompare(a.kind))).toMatchObject([
      { kind: 'sign-in: unreachable', cause: 'ECONNREFUSED' },
      { kind: 'refresh: timed_out', cause: 'too slow' },
    ]);
  });
});
