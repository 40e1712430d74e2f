import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Verifier } from '../../../../src/identity/auth/index.ts';
import { signToken } from '../../../support/token-issuer.ts';
import {
  ADDRESS,
  claims,
  ecdsa,
  freezeTime,
  openRoom,
  type Room,
  rsa,
  rsaNext,
  ScriptedIssuer,
  START_S,
} from './fixture.ts';

let room: Room;

beforeEach(async () => {
  freezeTime();
  room = await openRoom(new ScriptedIssuer(rsa, ecdsa), { budget: { limit: 1_000 } });
});

afterEach(() => {
  room.keys.close();
  vi.useRealTimers();
});

/** Why the token is refused, and whose the refusal says that it is. */
function refusalOf(verifier: Verifier, token: string): readonly [string, string | null] {
  const verdict = verifier.verify(token, ADDRESS);
  if (verdict instanceof Promise || verdict.kind !== 'invalid') throw new Error('the token is not refused');
  return [verdict.reason, verdict.principal];
}

const WHO = 'user:web ada';
const old = (jti: number) =>
  signToken(rsa, { ...claims, iat: START_S - 7_200, exp: START_S - 3_600, jti: `old ${jti}` });

/** So many tokens of other callers use up the checks of a second. */
function useUpTheRoom(): void {
  for (let i = 0; i < 10; i++) expect(refusalOf(room.verifier, old(i))).toEqual(['expired', WHO]);
  expect(refusalOf(room.verifier, old(10))).toEqual(['expired', null]);
}

describe('a refused token names its caller', () => {
  it('if it was known while it was valid, however many others are refused', () => {
    const token = signToken(rsa, claims);
    expect(room.verifier.verify(token, ADDRESS)).toMatchObject({ kind: 'user' });
    vi.advanceTimersByTime(330_000);
    useUpTheRoom();
    for (let i = 0; i < 3; i++) expect(refusalOf(room.verifier, token)).toEqual(['expired', WHO]);
    expect(room.recorder.count('signatureChecked')).toBe(1);
  });

  it('if it was known and is revoked', () => {
    const token = signToken(rsa, claims);
    expect(room.verifier.verify(token, ADDRESS)).toMatchObject({ kind: 'user' });
    room.revocations.revokeSubject('ada', START_S + 1);
    useUpTheRoom();
    expect(refusalOf(room.verifier, token)).toEqual(['not_before', WHO]);
  });

  it.each([
    ['expired', { exp: START_S - 3_600 }],
    ['audience', { aud: 'other' }],
  ])('if it is unknown, was signed by the issuer and is refused: %s', (reason, changed) => {
    const token = signToken(rsa, { ...claims, ...changed });
    for (let i = 0; i < 20; i++) expect(refusalOf(room.verifier, token)).toEqual([reason, WHO]);
  });

  it('up to 10 signature checks in any second, of whatever address', () => {
    useUpTheRoom();
    vi.advanceTimersByTime(999);
    expect(refusalOf(room.verifier, old(11))).toEqual(['expired', null]);
    vi.advanceTimersByTime(1);
    // Its caller is found now, and once it is, that costs no check.
    expect(refusalOf(room.verifier, old(11))).toEqual(['expired', WHO]);
    expect(refusalOf(room.verifier, old(0))).toEqual(['expired', WHO]);
  });
});

describe('a refused token names nobody', () => {
  it('if its signature is not good, and a second request with it costs no check', () => {
    const [head, payload] = old(1).split('.');
    const forged = `${head}.${payload}.${'A'.repeat(342)}`;
    for (let i = 0; i < 20; i++) expect(refusalOf(room.verifier, forged)).toEqual(['expired', null]);
    for (let i = 0; i < 9; i++) expect(refusalOf(room.verifier, old(i))).toEqual(['expired', WHO]);
  });

  it('if it lacks a claim that identifies the caller, or comes from elsewhere', () => {
    const nobody = signToken(rsa, { ...claims, exp: START_S - 3_600, azp: undefined });
    for (let i = 0; i < 20; i++) expect(refusalOf(room.verifier, nobody)).toEqual(['expired', null]);
    // All that cost one check.
    for (let i = 0; i < 9; i++) expect(refusalOf(room.verifier, old(i))).toEqual(['expired', WHO]);
    const elsewhere = signToken(rsa, { ...claims, iss: 'https://other.example' });
    expect(refusalOf(room.verifier, elsewhere)).toEqual(['issuer', null]);
  });

  it('while its key is not known', async () => {
    const token = signToken(rsaNext, { ...claims, exp: START_S - 3_600 });
    expect(refusalOf(room.verifier, token)).toEqual(['expired', null]);
    room.issuer.keys = [rsaNext];
    await room.keys.refresh();
    expect(refusalOf(room.verifier, token)).toEqual(['expired', WHO]);
  });

  it('and draws on no budget', async () => {
    room.keys.close();
    room = await openRoom(new ScriptedIssuer(rsa, ecdsa), { budget: { limit: 1 } });
    for (let i = 0; i < 50; i++) refusalOf(room.verifier, old(i));
    const [head, payload] = old(1).split('.');
    refusalOf(room.verifier, `${head}.${payload}.${'A'.repeat(342)}`);
    expect(room.verifier.verify(signToken(rsa, claims), ADDRESS)).toMatchObject({ kind: 'user' });
  });
});
