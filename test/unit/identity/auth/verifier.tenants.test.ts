import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Tenants } from '../../../../src/core/index.ts';
import { IssuerVerifiers } from '../../../../src/identity/auth/index.ts';
import { issuerKey, signToken } from '../../../support/token-issuer.ts';
import {
  ADDRESS,
  claims,
  freezeTime,
  inWords,
  openRoom,
  options,
  Recorder,
  type RoomOptions,
  ScriptedIssuer,
  START_S,
} from './fixture.ts';
import { LOGOUT, noticeIssuer, openNotices } from './notices/room.ts';

beforeEach(freezeTime);
afterEach(() => void vi.useRealTimers());

const BEFORE = 'https://login.microsoftonline.com/';
const issuerOf = (tenant: string) => `${BEFORE}${tenant}/v2.0`;
const ISSUER = issuerOf('{tid}');
const TENANTS: Tenants = { before: BEFORE, claim: 'tid', after: '/v2.0', values: ['red', 'blue'] };
const ANY: Tenants = { ...TENANTS, values: null };
const key = issuerKey('ES256', 'shared');

/** Claims of a token of this tenant, and a `secret` of nobody. */
const of = (tenant: string, changed: object = {}) => ({
  ...{ ...claims, typ: undefined, iss: issuerOf(tenant), tid: tenant },
  ...changed,
});
const tokenOf = (tenant: string, changed: object = {}, by = key) => signToken(by, of(tenant, changed));
const open = (tenants = TENANTS, { access, ...more }: RoomOptions = {}, ...keys: (typeof key)[]) =>
  openRoom(new ScriptedIssuer(...(keys.length === 0 ? [key] : keys)), {
    access: { ...{ issuer: ISSUER, tenants, principal: ['tid', 'azp', 'sub'] }, ...access },
    ...more,
  });

describe('a token of a tenant', () => {
  it('names its tenant as its issuer and in the claim, and its caller belongs to that tenant', async () => {
    const { verifier, judge } = await open();
    expect(await judge(tokenOf('red'))).toBe('user red web ada');
    expect(await judge(tokenOf('blue'))).toBe('user blue web ada');
    expect(await verifier.verify(tokenOf('red'), ADDRESS)).toMatchObject({
      ...{ issuer: ISSUER, tenant: issuerOf('red') },
    });
  });

  it.each<[string, object]>([
    ['another tenant', { iss: issuerOf('green'), tid: 'green' }],
    ['a claim that contradicts the issuer', { tid: 'blue' }],
    ['an issuer that contradicts the claim', { iss: issuerOf('blue') }],
    ['the placeholder itself', { iss: ISSUER, tid: '{tid}' }],
    ['an issuer elsewhere', { iss: 'https://evil.example/red/v2.0' }],
    ['a longer path', { iss: `${BEFORE}red/x/v2.0`, tid: 'red/x' }],
    ['another letter case', { iss: issuerOf('RED'), tid: 'RED' }],
  ])('is refused for %s', async (_name, changed) => {
    const { judge } = await open();
    expect(await judge(tokenOf('red', changed))).toBe('invalid issuer');
  });

  it.each([undefined, null, 7, ['red']])('is refused with the claim %j', async tid => {
    const { judge } = await open();
    expect(await judge(tokenOf('red', { tid }))).toBe('invalid claim tid');
  });

  it('may be any where any are accepted, as long as its form is right', async () => {
    const { judge } = await open(ANY);
    expect(await judge(tokenOf('green'))).toBe('user green web ada');
    for (const tenant of ['..', 'a/b', 'a%2f', '', 'x'.repeat(65)])
      expect(await judge(tokenOf(tenant))).toBe('invalid issuer');
  });

  it('is signed by a key of the set, and by none that is for another tenant', async () => {
    const keyOf = (kid: string, issuer: unknown) => {
      const made = issuerKey('ES256', kid);
      return { ...made, jwk: { ...made.jwk, issuer } };
    };
    const ofRed = keyOf('red', issuerOf('red'));
    const ofAll = keyOf('all', issuerOf('{tenantid}'));
    const ofOthers = keyOf('others', 'https://sts.windows.net/{tenantid}/');
    const odd = keyOf('odd', { of: 'red' });
    const { judge } = await open(TENANTS, { budget: null }, key, ofRed, ofAll, ofOthers, odd);
    const bySigner = async (signer: typeof key, tenant: string) =>
      judge(tokenOf(tenant, { iat: START_S - 60 }, signer));
    expect(await bySigner(ofRed, 'red')).toBe('user red web ada');
    expect(await bySigner(ofAll, 'red')).toBe('user red web ada');
    expect(await bySigner(ofAll, 'blue')).toBe('user blue web ada');
    for (const [signer, tenant] of [
      ...([
        [ofRed, 'blue'],
        [ofOthers, 'red'],
        [odd, 'red'],
      ] as const),
    ])
      expect(await bySigner(signer, tenant)).toBe('invalid algorithm');
    // Without tenants the member means nothing, as before.
    const plain = await openRoom(new ScriptedIssuer(ofOthers));
    expect(await plain.judge(signToken(ofOthers, claims))).toBe('user web ada');
  });

  it('is revoked with its tenant alone: subjects and sessions of others have the same names', async () => {
    const { judge, revocations, verifier } = await open();
    const [red, blue] = ['red', 'blue'].map(tenant => tokenOf(tenant, { sid: 's1' }));
    const caller = await verifier.verify(red ?? '', ADDRESS);
    if (!('session' in caller)) throw new Error(inWords(caller));
    revocations.endSession(caller.session, START_S, caller.subject);
    expect([await judge(red ?? ''), await judge(blue ?? '')]).toEqual([
      ...['invalid signed_out', 'user blue web ada'],
    ]);
    const [first, second] = ['red', 'blue'].map(tenant => tokenOf(tenant, { jti: 'same', sub: 'bob' }));
    const bob = await verifier.verify(first ?? '', ADDRESS);
    if (!('session' in bob)) throw new Error(inWords(bob));
    revocations.endSession(bob.session, START_S, bob.subject);
    expect([await judge(first ?? ''), await judge(second ?? '')]).toEqual([
      ...['invalid signed_out', 'user blue web bob'],
    ]);
  });
});

describe('several providers, one of which has tenants', () => {
  it('each judge their own tokens', async () => {
    const other = issuerKey('ES256', 'other');
    const rooms = [
      await open(ANY, { access: { isOneOfSeveral: true } }),
      await openRoom(new ScriptedIssuer(other), { access: { isOneOfSeveral: true } }),
    ];
    const verifiers = rooms.map(({ verifier }) => verifier);
    const both = new IssuerVerifiers(verifiers, new Recorder());
    const judge = async (token: string) => inWords(await both.verify(token, ADDRESS));
    expect(await judge(tokenOf('red'))).toBe(`user ${ISSUER} red web ada`);
    expect(await judge(signToken(other, claims))).toBe(`user ${options.issuer} web ada`);
    expect(await judge(tokenOf('red', { iat: START_S - 60 }, other))).toMatch(/unavailable|unknown_key/);
    expect(await judge(tokenOf('a/b'))).toBe('invalid issuer');
    expect(await judge(tokenOf('red', { iss: 7 }))).toBe('invalid claim iss');
    const caller = await both.verify(tokenOf('red'), ADDRESS);
    if (!('principal' in caller) || caller.kind === 'invalid') throw new Error(inWords(caller));
    expect(both.accepts(caller)).toBe(true);
    expect(both.endOf(caller)).toBeNull();
  });
});

describe('a logout of a tenant', () => {
  const logoutOf = (tenant: string, changed: object = {}) => ({
    ...{ ...LOGOUT, iss: issuerOf(tenant), tid: tenant, jti: tenant },
    ...changed,
  });

  async function room() {
    const provider = new ScriptedIssuer(key);
    const issuer = { ...(await noticeIssuer(provider, ISSUER)), tenants: TENANTS };
    const { notices, events } = await openNotices(new ScriptedIssuer(key), { others: [issuer] });
    const send = async (token: object) => {
      const body = Buffer.from(`logout_token=${signToken(key, token)}`);
      const contentType = 'application/x-www-form-urlencoded';
      const request = { kind: 'back_channel_logout', contentType, body, address: '192.0.2.1' } as const;
      return (await notices.take(request)).status;
    };
    return { send, events, issuer };
  }

  it('ends the sessions and subjects of that tenant alone', async () => {
    const { send, issuer } = await room();
    const verifier = await open();
    const revocableOf = async (tenant: string, changed: object) => {
      const caller = await verifier.verifier.verify(
        tokenOf(tenant, { iat: START_S - 1, ...changed }),
        ADDRESS,
      );
      if (!('session' in caller)) throw new Error(inWords(caller));
      return issuer.revocations.refusal(caller);
    };
    const { sid, ...withoutSid } = logoutOf('red', { sub: 'ada', jti: '2' });
    expect(sid).toBeTypeOf('string');
    expect(await send(logoutOf('red', { sub: undefined }))).toBe(200);
    expect([await revocableOf('red', { sid }), await revocableOf('blue', { sid })]).toEqual([
      'signed_out',
      null,
    ]);
    expect(await send(withoutSid)).toBe(200);
    expect([await revocableOf('red', {}), await revocableOf('blue', {})]).toEqual(['not_before', null]);
  });

  it('is known by its id within the tenant, and need not have the claim', async () => {
    const { send, events } = await room();
    expect(await send(logoutOf('red', { jti: 'same', tid: undefined }))).toBe(200);
    expect(await send(logoutOf('blue', { jti: 'same' }))).toBe(200);
    expect(await send(logoutOf('blue', { jti: 'same' }))).toBe(400);
    expect(events.map(({ outcome, flaw }) => flaw ?? outcome)).toEqual(['accepted', 'accepted', 'replayed']);
  });

  it.each([
    ['another tenant', logoutOf('green')],
    ['a claim that contradicts the issuer', logoutOf('red', { tid: 'blue' })],
    ['the placeholder itself', logoutOf('{tid}')],
  ])('is refused for %s', async (_name, token) => {
    const { send, events } = await room();
    expect(await send(token)).toBe(400);
    expect(events.map(({ flaw }) => flaw)).toEqual(['issuer']);
  });
});
