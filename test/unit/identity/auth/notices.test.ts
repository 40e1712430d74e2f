import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { REVOCATION_LIMITS, Revocations } from '../../../../src/identity/auth/index.ts';
import { revocableOf } from '../../../../src/identity/auth/revocation-rules.ts';
import { issuerKey, signToken } from '../../../support/token-issuer.ts';
import { claims, clock, freezeTime, options, rsa, rsaNext, ScriptedIssuer, START_S } from './fixture.ts';
import { LOGOUT, type NoticeRoom, noticeIssuer, openNotices, PUSH } from './notices/room.ts';

beforeEach(freezeTime);
afterEach(() => void vi.useRealTimers());

/** Why a token with these claims is refused now. */
const refusal = ({ issuer }: NoticeRoom, changed: Record<string, unknown> = {}) =>
  issuer.revocations.refusal(revocableOf({ claims: { ...claims, ...changed }, signingInput: '' }));
const flaws = ({ events }: NoticeRoom) => events.map(({ outcome, flaw }) => flaw ?? outcome);
const OLD = { iat: START_S - 1 };

describe('a not-before push', () => {
  it('applies to every token of the issuer', async () => {
    const room = await openNotices();
    expect(await room.push()).toBe(204);
    expect([refusal(room, OLD), refusal(room)]).toEqual(['not_before', null]);
    expect(room.events).toEqual([
      { kind: 'not_before_push', outcome: 'accepted', flaw: null, claim: null, notBeforeS: START_S },
    ]);
  });

  it('lowers the mark if it is newer, and changes nothing if it is older', async () => {
    const room = await openNotices();
    await room.push();
    expect(await room.push({ ...PUSH, id: '2', expiration: START_S + 31, notBefore: 0 })).toBe(204);
    expect(refusal(room, OLD)).toBeNull();
    expect(await room.push({ ...PUSH, id: '3' })).toBe(204);
    expect(refusal(room, OLD)).toBeNull();
    expect(flaws(room)).toEqual(['accepted', 'accepted', 'outdated']);
    // Of one second the later arrival counts.
    vi.advanceTimersByTime(1);
    await room.push({ ...PUSH, id: '4', expiration: START_S + 31, notBefore: START_S });
    expect(refusal(room, OLD)).toBe('not_before');
  });

  it('is answered once all threads know, whether it changes anything or not; a refused one at once', async () => {
    const waiting: (() => void)[] = [];
    const allKnow = () => new Promise<void>(resolve => waiting.push(resolve));
    const room = await openNotices(undefined, { allKnow });
    let isAnswered = false;
    const answered = () => {
      isAnswered = true;
    };
    for (const id of ['1', '2']) {
      isAnswered = false;
      const expiration = START_S + (id === '1' ? 30 : 29);
      const answer = room.push({ ...PUSH, id, expiration }).finally(answered);
      await vi.waitFor(() => expect(waiting).toHaveLength(1));
      expect([refusal(room, OLD), isAnswered]).toEqual(['not_before', false]);
      waiting.pop()?.();
      expect(await answer).toBe(204);
    }
    expect(flaws(room)).toEqual(['accepted', 'outdated']);
    expect([await room.push({ ...PUSH, id: '2' }), waiting]).toEqual([400, []]);
  });

  it('works once', async () => {
    const room = await openNotices();
    expect([await room.push(), await room.push()]).toEqual([204, 400]);
    expect(flaws(room)).toEqual(['accepted', 'replayed']);
  });

  it('sent again costs no signature check', async () => {
    const room = await openNotices();
    await room.push();
    expect(await room.push(PUSH, { ...rsaNext, kid: rsa.kid })).toBe(400);
    expect(flaws(room)).toEqual(['accepted', 'replayed']);
  });

  it('works once at all gateways', async () => {
    const room = await openNotices(undefined, { claim: async () => false });
    expect(await room.push()).toBe(400);
    expect([flaws(room), refusal(room, OLD)]).toEqual([['replayed'], null]);
  });

  it.each([
    ['another key of the same name', () => ({ ...rsaNext, kid: rsa.kid }), 'signature'],
    ['an unknown key', () => rsaNext, 'unknown_key'],
    ['another algorithm', () => ({ ...issuerKey('ES256', 'rsa-1') }), 'algorithm'],
  ] as const)('signed by %s changes nothing', async (_, key, expected) => {
    const room = await openNotices();
    vi.advanceTimersByTime(5_000);
    expect(await room.push(PUSH, key())).toBe(400);
    expect([flaws(room), refusal(room, OLD)]).toEqual([[expected], null]);
    // It used up nothing: the provider's own still works.
    expect(await room.push()).toBe(204);
  });

  it.each([
    ['', 'malformed'],
    ['x', 'malformed'],
    ['a.b.c', 'malformed'],
    ['e30.e30.', 'malformed'],
    [`${signToken(rsa, PUSH)}\n`, 'malformed'],
    [`${signToken(rsa, PUSH)}.x`, 'malformed'],
    [signToken(rsa, PUSH, { alg: 'none' }), 'algorithm'],
    [signToken(rsa, PUSH, { crit: ['exp'] }), 'critical'],
  ])('that reads %j is refused: %s', async (body, expected) => {
    const room = await openNotices();
    expect((await room.send('not_before_push', 'text/plain', body)).status).toBe(400);
    expect(flaws(room)).toEqual([expected]);
  });

  it('is in force until it expires, give or take the leeway of its provider', async () => {
    const room = await openNotices();
    vi.advanceTimersByTime(59_999);
    expect(await room.push()).toBe(204);
    vi.advanceTimersByTime(1);
    expect(await room.push({ ...PUSH, id: '2' })).toBe(400);
    expect(flaws(room)).toEqual(['accepted', 'expired']);
  });

  it('that names no key is taken if any key of its provider signed it', async () => {
    const room = await openNotices(new ScriptedIssuer(rsa, rsaNext));
    expect(await room.push(PUSH, { ...rsa, kid: null })).toBe(204);
    expect(await room.push({ ...PUSH, id: '2' }, { ...rsaNext, kid: null })).toBe(204);
  });

  it('is not an access or logout token, although the same key signs them', async () => {
    const room = await openNotices();
    for (const other of [claims, LOGOUT, { ...claims, ...PUSH }]) expect(await room.push(other)).toBe(400);
    expect([...new Set(flaws(room))]).toEqual(['token_kind']);
  });
});

describe('a logout token', () => {
  it('with sid ends that session alone', async () => {
    const room = await openNotices();
    expect(await room.logout()).toBe(200);
    expect([refusal(room, { sid: 's1' }), refusal(room, { sid: 's2' })]).toEqual(['signed_out', null]);
    expect(flaws(room)).toEqual(['accepted']);
  });

  it('with sid and sub also ends what this subject has without a session and was issued until then', async () => {
    const room = await openNotices();
    expect(refusal(room)).toBeNull();
    expect(await room.logout()).toBe(200);
    expect([refusal(room), refusal(room, { jti: 'j1' }), refusal(room, OLD)]).toEqual(
      Array(3).fill('signed_out'),
    );
    expect(refusal(room, { iat: START_S + 1 })).toBeNull();
    expect([refusal(room, { sub: 'bob' }), refusal(room, { sub: undefined })]).toEqual([null, null]);
  });

  it('with sid alone leaves tokens without a session alone, and is said to reach none where all are so', async () => {
    const room = await openNotices();
    const { revocations } = room.issuer;
    const { sub: _, ...bySession } = LOGOUT;
    const seen = (token: Readonly<Record<string, unknown>>) =>
      revocations.observeSession(revocableOf({ claims: token, signingInput: '' }));
    const logout = (jti: string, more = {}) => room.logout({ ...bySession, jti, ...more });
    expect(await logout('1')).toBe(200);
    expect(refusal(room)).toBeNull();
    seen({ sub: 'ada' });
    expect(await logout('2')).toBe(200);
    expect(await logout('3', { sub: 'ada' })).toBe(200);
    seen({ sub: 'ada', sid: 's9' });
    expect(await logout('4')).toBe(200);
    expect(flaws(room)).toEqual(['accepted', 'reached_none', 'accepted', 'accepted']);
    expect(refusal(room, { sid: 's1' })).toBe('signed_out');
  });

  it('with sid alone does, and each such end is taken, however many there are', async () => {
    const room = await openNotices(undefined, { limit: 5 });
    for (let i = 0; i < 20; i += 1) {
      const { sub: _, ...bySession } = { ...LOGOUT, jti: `${i}`, sid: `s${i}` };
      expect(await room.logout(bySession)).toBe(200);
    }
    expect([0, 19, 20].map(i => refusal(room, { sid: `s${i}` }))).toEqual(['signed_out', 'signed_out', null]);
  });

  it('with sid and sub counts for the subject: one that ends too many sessions loses all of them', async () => {
    const provider = new ScriptedIssuer(rsa);
    const limits = { ...REVOCATION_LIMITS, maxSessionsOfOne: 1 };
    const small = {
      ...(await noticeIssuer(provider, 'https://other.example')),
      revocations: new Revocations(limits, clock, () => {}).of('https://other.example'),
    };
    const room = await openNotices(undefined, { others: [small] });
    for (const sid of ['s1', 's2'])
      expect(await room.logout({ ...LOGOUT, iss: small.issuer, jti: sid, sid })).toBe(200);
    // The first session, and what the subject has without one.
    expect(small.revocations.facts).toMatchObject({ sessions: 2, subjects: 1 });
    expect(refusal({ ...room, issuer: small }, { sid: 's3' })).toBe('not_before');
  });

  it('with sub alone refuses what was issued until then', async () => {
    const room = await openNotices();
    const { sid: _, ...bySubject } = LOGOUT;
    expect(await room.logout({ ...bySubject, iat: START_S - 10 })).toBe(200);
    expect(refusal(room, { iat: START_S - 10 })).toBe('not_before');
    expect(refusal(room, { iat: START_S - 9 })).toBeNull();
    expect(refusal(room, { iat: START_S - 10, sub: 'bob' })).toBeNull();
  });

  it('works once, and not with the signature of another', async () => {
    const room = await openNotices();
    // The key may have been replaced under its id, which the next fetch will tell.
    expect(await room.logout(LOGOUT, { ...rsaNext, kid: rsa.kid })).toBe(503);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await room.logout(LOGOUT, { ...rsaNext, kid: rsa.kid })).toBe(400);
    expect(refusal(room, { sid: 's1' })).toBeNull();
    expect([await room.logout(), await room.logout()]).toEqual([200, 400]);
    expect(flaws(room)).toEqual(['undecided', 'signature', 'accepted', 'replayed']);
  });

  it('of a new key under the id of a known one is taken once the keys were fetched', async () => {
    const room = await openNotices();
    const replaced = { ...rsaNext, kid: rsa.kid, jwk: { ...rsaNext.jwk, kid: rsa.kid } };
    room.provider.keys = [replaced];
    expect(await room.logout(LOGOUT, replaced)).toBe(503);
    await vi.advanceTimersByTimeAsync(5_000);
    expect([await room.logout(LOGOUT, replaced), room.provider.fetches]).toEqual([200, 2]);
    expect(flaws(room)).toEqual(['undecided', 'accepted']);
  });

  it('is no push, access or ID token', async () => {
    const room = await openNotices();
    for (const other of [PUSH, claims, { ...claims, typ: 'ID', nonce: 'n' }])
      expect(await room.logout(other)).toBe(400);
    expect(room.events.every(({ outcome }) => outcome === 'refused')).toBe(true);
  });

  it('is answered as the specification says, without a word of it', async () => {
    const room = await openNotices();
    const form = 'application/x-www-form-urlencoded';
    const body = `logout_token=${signToken(rsa, { ...LOGOUT, aud: 'someone-else' })}`;
    expect(await room.send('back_channel_logout', form, body)).toEqual({
      status: 400,
      reason: 'Bad Request',
      fields: ['Content-Type', 'application/json', 'Cache-Control', 'no-store'],
      body: '{"error":"invalid_request","error_description":"it is for another client"}',
    });
    const wrong = await room.send(
      'back_channel_logout',
      form,
      `logout_token=${signToken(rsa, { ...LOGOUT, jti: 7 })}`,
    );
    expect(wrong.body).toBe('{"error":"invalid_request","error_description":"jti is missing or wrong"}');
    expect(await room.send('back_channel_logout', form, `logout_token=${signToken(rsa, LOGOUT)}`)).toEqual({
      status: 200,
      reason: 'OK',
      fields: ['Cache-Control', 'no-store'],
      body: '',
    });
    expect((await room.send('back_channel_logout', form, '')).body).toContain(
      'the body must have one logout_token',
    );
    expect(room.events.map(({ flaw, claim }) => [flaw, claim])).toEqual([
      ['audience', null],
      ['claim', 'jti'],
      [null, null],
      ['body', null],
    ]);
  });
});

describe('a notice signed by a key that is not known yet', () => {
  it('causes one fetch, and applies', async () => {
    const room = await openNotices();
    vi.advanceTimersByTime(5_000);
    room.provider.keys = [rsa, rsaNext];
    expect(await room.push({ ...PUSH, expiration: START_S + 35 }, rsaNext)).toBe(204);
    expect(room.provider.fetches).toBe(2);
  });

  it('is neither taken nor lost while the keys cannot be fetched', async () => {
    const room = await openNotices();
    room.provider.keys = [rsa, rsaNext];
    // Within the cooldown of the first fetch.
    expect(await room.push(PUSH, rsaNext)).toBe(503);
    vi.advanceTimersByTime(5_000);
    room.provider.state = 'failing';
    expect(await room.push(PUSH, rsaNext)).toBe(503);
    room.provider.state = 'up';
    vi.advanceTimersByTime(5_000);
    expect(await room.push(PUSH, rsaNext)).toBe(204);
    expect(flaws(room)).toEqual(['undecided', 'undecided', 'accepted']);
    expect(room.provider.fetches).toBe(3);
  });

  it('causes no more fetches than the cooldown allows, however many come', async () => {
    const room = await openNotices();
    vi.advanceTimersByTime(5_000);
    const forged = Array.from({ length: 50 }, (_, i) =>
      room.push({ ...PUSH, id: `${i}` }, { ...rsaNext, kid: `${i}` }),
    );
    expect(new Set(await Promise.all(forged))).toEqual(new Set([400, 503]));
    expect(room.provider.fetches).toBe(2);
  });
});

describe('an address that sends bad notices', () => {
  it('is put off after its budget is spent, good ones included, and only until then', async () => {
    const room = await openNotices(undefined, { limit: 5 });
    for (let i = 0; i < 5; i++) expect(await room.push('junk')).toBe(400);
    for (let i = 0; i < 10; i++) await room.push('junk');
    const response = await room.send('not_before_push', 'text/plain', signToken(rsa, PUSH));
    expect(response).toMatchObject({ status: 429, fields: expect.arrayContaining(['Retry-After', '60']) });
    expect(response.body).toBe(
      '{"error":"temporarily_unavailable","error_description":"too many bad notices from this address"}',
    );
    expect(flaws(room).at(-1)).toBe('put_off');
    vi.advanceTimersByTime(60_000);
    expect(await room.push({ ...PUSH, expiration: START_S + 90 })).toBe(204);
  });
});

describe('an address that names unknown keys', () => {
  it('spends its budget with them as well', async () => {
    const room = await openNotices(undefined, { limit: 5 });
    for (let i = 0; i < 5; i++) expect(await room.push(PUSH, rsaNext)).toBe(503);
    for (let i = 0; i < 10; i++) await room.push(PUSH, rsaNext);
    expect(await room.push()).toBe(429);
  });
});

describe('notices of several providers', () => {
  it('are told apart by issuer, and pushes by client and key', async () => {
    const other = await noticeIssuer(new ScriptedIssuer(rsaNext), 'https://other.example');
    const room = await openNotices(undefined, { others: [other] });
    const token = revocableOf({ claims: { ...claims, ...OLD, sid: 's1' }, signingInput: '' });
    const both = () => [room.issuer, other].map(({ revocations }) => revocations.refusal(token));
    vi.advanceTimersByTime(5_000);
    expect(await room.logout({ ...LOGOUT, iss: other.issuer }, rsaNext)).toBe(200);
    expect(both()).toEqual([null, 'signed_out']);
    expect(await room.push(PUSH, rsaNext)).toBe(204);
    expect(both()).toEqual([null, 'not_before']);
    // The holder of the key is the sender: nobody else is asked for it.
    expect(room.provider.fetches).toBe(1);
    expect(await room.push({ ...PUSH, id: '2', resource: 'nobody' })).toBe(400);
    expect(await room.logout({ ...LOGOUT, jti: '2', iss: 'https://third.example' })).toBe(400);
    expect(await room.logout({ ...LOGOUT, jti: '3', iss: options.issuer }, rsaNext)).toBe(400);
    expect(flaws(room)).toEqual(['accepted', 'accepted', 'audience', 'issuer', 'unknown_key']);
  });

  it('that know the gateway by other names send pushes of their own', async () => {
    const other = {
      ...(await noticeIssuer(new ScriptedIssuer(rsaNext), 'https://other.example')),
      clientId: 'gateway-there',
    };
    const room = await openNotices(undefined, { others: [other] });
    const pushedS = () => [room.issuer, other].map(({ revocations }) => revocations.facts.pushedS);
    expect(await room.push({ ...PUSH, resource: other.clientId }, rsa)).toBe(503);
    expect(pushedS()).toEqual([null, null]);
    expect(await room.push({ ...PUSH, resource: other.clientId }, rsaNext)).toBe(204);
    expect(pushedS()).toEqual([null, START_S]);
  });

  it('that name no key are taken from whichever provider signed them', async () => {
    const other = await noticeIssuer(new ScriptedIssuer(rsaNext), 'https://other.example');
    const room = await openNotices(undefined, { others: [other] });
    expect(await room.push(PUSH, { ...rsaNext, kid: null })).toBe(204);
    expect([room.issuer, other].map(({ revocations }) => revocations.facts.pushedS)).toEqual([null, START_S]);
  });

  it('with a new key are taken from whichever provider has it, also while another cannot say', async () => {
    const next = issuerKey('ES256', 'next');
    const rotating = new ScriptedIssuer(rsaNext);
    const first = new ScriptedIssuer(rsa);
    const other = await noticeIssuer(rotating, 'https://other.example');
    const room = await openNotices(first, { others: [other] });
    const pushedS = () => [room.issuer, other].map(({ revocations }) => revocations.facts.pushedS);
    rotating.keys = [rsaNext, next];
    vi.advanceTimersByTime(10_000);
    expect(await room.push(PUSH, next)).toBe(204);
    expect(pushedS()).toEqual([null, START_S]);
    const late = issuerKey('ES256', 'late');
    first.state = 'failing';
    vi.advanceTimersByTime(10_000);
    expect(await room.push({ ...PUSH, id: '2' }, late)).toBe(503);
    rotating.keys = [late];
    vi.advanceTimersByTime(10_000);
    expect(await room.push({ ...PUSH, id: '2', notBefore: START_S + 1 }, late)).toBe(204);
    expect(pushedS()).toEqual([null, START_S + 1]);
    expect(await room.push({ ...PUSH, id: '3' }, { ...rsa, kid: late.kid })).toBe(400);
  });

  it('are not taken from a provider whose notices of that kind are not wanted', async () => {
    const other = {
      ...(await noticeIssuer(new ScriptedIssuer(rsa), 'https://other.example')),
      kinds: new Set<never>(),
    };
    const room = await openNotices(undefined, { others: [other] });
    expect(await room.logout({ ...LOGOUT, iss: other.issuer })).toBe(400);
    expect(flaws(room)).toEqual(['issuer']);
  });
});
