import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { IssuerVerifiers } from '../../../../src/identity/auth/issuer-verifiers.ts';
import { invalid } from '../../../../src/identity/auth/token/index.ts';
import { signToken } from '../../../support/token-issuer.ts';
import {
  ADDRESS,
  claims,
  ecdsa,
  freezeTime,
  inWords,
  openRoom,
  Recorder,
  type RoomOptions,
  rsa,
  rsaNext,
  ScriptedIssuer,
} from './fixture.ts';

const ONE = 'https://id.example.com/realms/main';
const OTHER = 'https://id.example.com/realms/other';

/** Two rooms behind one verifier, as two providers of one gateway. */
async function openRooms(changed: RoomOptions = {}, otherIssuer = new ScriptedIssuer(ecdsa)) {
  const one = await openRoom(new ScriptedIssuer(rsa), changed);
  const access = {
    issuer: OTHER,
    isOneOfSeveral: true,
    audience: ['partners'],
    principal: ['sub'],
    bots: null,
  };
  const other = await openRoom(otherIssuer, { ...changed, access });
  const recorder = new Recorder();
  const verifier = new IssuerVerifiers([one.verifier, other.verifier], recorder);
  const judge = async (token: string, address = ADDRESS) => inWords(await verifier.verify(token, address));
  return { one, other, recorder, verifier, judge };
}

const ofOne = (more = {}) => signToken(rsa, { ...claims, ...more });
const ofOther = (more = {}) => signToken(ecdsa, { ...claims, iss: OTHER, aud: 'partners', ...more });

beforeEach(freezeTime);
afterEach(() => void vi.useRealTimers());

describe('the token of an issuer', () => {
  it('is judged by the keys and rules of that issuer alone', async () => {
    const { judge } = await openRooms();
    expect(await judge(ofOne())).toBe('user web ada');
    expect(await judge(ofOther())).toBe(`user ${OTHER} ada`);
    expect(await judge(ofOne({ aud: 'partners' }))).toBe('invalid audience');
    expect(await judge(ofOther({ aud: 'api' }))).toBe('invalid audience');
    expect(await judge(ofOther({ client_id: 'robot' }))).toBe(`user ${OTHER} ada`);
  });

  it('cannot be signed by another issuer', async () => {
    const { judge } = await openRooms();
    // Older than the key sets, which therefore have every key that could have signed it.
    const ofPartner = { ...claims, iat: claims.iat - 100, iss: OTHER, aud: 'partners' };
    expect(await judge(signToken(rsa, ofPartner))).toBe('invalid unknown_key');
    expect(await judge(signToken(ecdsa, { ...claims, iat: claims.iat - 100 }))).toBe('invalid unknown_key');
    // It names a key that its issuer has, with another algorithm.
    expect(await judge(signToken({ ...rsa, kid: ecdsa.kid }, ofPartner))).toBe('invalid algorithm');
  });

  it('is known without being parsed again, and announced by its issuer', async () => {
    const { one, other, judge, recorder } = await openRooms();
    const token = ofOther();
    await judge(token);
    await judge(token);
    expect(other.recorder.count('signatureChecked')).toBe(1);
    expect(other.recorder.count('tokenKnown')).toBe(1);
    expect(one.recorder.count('signatureChecked')).toBe(0);
    expect(recorder.events).toEqual([]);
  });

  it('is remembered by its issuer once it was verified, and refused by that later', async () => {
    const { one, other, judge, verifier, recorder } = await openRooms();
    const [token, unknown] = [ofOther(), ofOther({ sub: 'bob' })];
    await judge(token);
    const caller = verifier.remembered(token);
    expect([caller?.issuer, verifier.remembered(unknown)]).toEqual([OTHER, null]);
    if (caller === null) throw new Error('not remembered');
    verifier.refuse(invalid('certificate'), caller);
    expect([one, other].map(room => room.recorder.count('tokenRefused'))).toEqual([0, 1]);
    expect(recorder.events).toEqual([]);
    other.revocations.revokeSubject('ada', claims.iat + 1);
    expect(verifier.remembered(token)).toBeNull();
  });

  it('is remembered as refused, too', async () => {
    const { other, judge } = await openRooms();
    const forged = `${ofOther({ iat: claims.iat - 100 }).slice(0, -8)}AAAAAAAA`;
    expect(await judge(forged)).toBe('invalid signature');
    expect(await judge(forged)).toBe('invalid signature');
    expect(other.recorder.count('signatureChecked')).toBe(1);
  });
});

describe('the token of no issuer', () => {
  it.each([
    ['another', 'https://id.example.com/realms/third', 'invalid issuer'],
    ['one with a slash more', `${ONE}/`, 'invalid issuer'],
    ['one in other letters', ONE.toUpperCase(), 'invalid issuer'],
    ['the name of a member of every object', 'constructor', 'invalid issuer'],
    ['none', undefined, 'invalid claim iss'],
    ['a list', [ONE], 'invalid claim iss'],
  ])('is refused, and no key is looked for: %s', async (_, iss, words) => {
    const { one, other, judge, recorder } = await openRooms();
    expect(await judge(signToken(rsaNext, { ...claims, iss }))).toBe(words);
    expect(recorder.count('tokenRefused')).toBe(1);
    expect([one.issuer.fetches, other.issuer.fetches]).toEqual([1, 1]);
  });

  it('is refused when it is no token at all', async () => {
    const { judge, recorder } = await openRooms();
    expect(await judge('nonsense')).toBe('invalid malformed');
    expect(recorder.count('tokenRefused')).toBe(1);
  });
});

describe('an issuer whose keys cannot be had', () => {
  it('leaves the tokens of the others alone', async () => {
    const away = new ScriptedIssuer(ecdsa);
    away.state = 'failing';
    const { judge } = await openRooms({}, away);
    expect(await judge(ofOther())).toBe('unavailable 5');
    expect(await judge(ofOne())).toBe('user web ada');
  });
});

describe('a caller', () => {
  it('is accepted by its own issuer for as long as that is there', async () => {
    const { one, other, verifier } = await openRooms();
    const caller = await verifier.verify(ofOther(), ADDRESS);
    if (caller.kind !== 'user') throw new Error('refused');
    expect(verifier.accepts(caller)).toBe(true);
    expect(new IssuerVerifiers([one.verifier], new Recorder()).accepts(caller)).toBe(false);
    other.issuer.keys = [rsaNext];
    await other.keys.refresh();
    expect(verifier.accepts(caller)).toBe(false);
  });

  it('is revoked by its own issuer alone', async () => {
    const { one, other, verifier } = await openRooms();
    const callers = [await verifier.verify(ofOne(), ADDRESS), await verifier.verify(ofOther(), ADDRESS)];
    const revoked = () =>
      callers.map(caller => (caller.kind === 'user' ? verifier.endOf(caller) : 'no caller'));
    other.revocations.revokeSubject('ada', claims.iat + 1);
    expect(revoked()).toEqual([null, 'not_before']);
    one.revocations.revokeSubject('ada', claims.iat + 1);
    expect(revoked()).toEqual(['not_before', 'not_before']);
    // A stream goes on when a reload has removed its issuer.
    const without = new IssuerVerifiers([one.verifier], new Recorder());
    const [, ofOtherIssuer] = callers;
    if (ofOtherIssuer?.kind !== 'user') throw new Error('no caller');
    expect(without.endOf(ofOtherIssuer)).toBeNull();
  });
});
