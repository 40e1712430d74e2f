import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readBearer, type Verdict } from '../../../../src/identity/auth/index.ts';
import { base64Url, signParts, signToken } from '../../../support/token-issuer.ts';
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
} from './fixture.ts';

const MARKER = 'MARKER-7f3a';

let room: Room;

beforeEach(freezeTime);

afterEach(() => {
  room.keys.close();
  vi.useRealTimers();
});

/** Tokens of every fate, with the marker in clear and in base64url wherever something can be written. */
function tokens(): string[] {
  const marked = { ...claims, jti: MARKER, sub: MARKER };
  const header = { kid: 'rsa-1', x: MARKER };
  return [
    MARKER,
    `${MARKER}.${MARKER}.${MARKER}`,
    `${base64Url(`{"alg":"RS256","x":"${MARKER}"`)}.${base64Url('{}')}.AAAA`,
    `${base64Url(`{"alg":"${MARKER}"}`)}.${base64Url('{}')}.AAAA`,
    signParts(rsa, `{"alg":"RS256","kid":"rsa-1"}`, `{"${MARKER}`),
    signToken(rsa, marked, { kid: MARKER }),
    signToken(rsa, marked, { ...header, crit: [MARKER] }),
    signToken(rsa, { ...marked, exp: 1 }, header),
    signToken(rsa, { ...marked, iss: MARKER }, header),
    signToken(rsa, { ...marked, aud: MARKER }, header),
    signToken(rsa, { ...marked, typ: MARKER }, header),
    signToken(rsa, { ...marked, azp: undefined }, header),
    signToken(rsaNext, marked, header),
    signToken(ecdsa, marked, { kid: 'rsa-1' }),
  ];
}

/** Whose token it is has to be told: for the access log, which writes a pseudonym. */
function withoutPrincipal(verdict: Verdict): object {
  return verdict.kind === 'invalid' ? { ...verdict, principal: null } : verdict;
}

it('no part of a token is in a refusal or in anything that is announced', async () => {
  room = await openRoom(new ScriptedIssuer(rsa), { budget: { limit: 3, checksPerSecond: 0 } });
  await vi.advanceTimersByTimeAsync(10_000);
  const said: unknown[] = [];
  for (const state of ['up', 'failing'] as const) {
    room.issuer.state = state;
    for (const token of tokens()) {
      said.push(withoutPrincipal(await room.verifier.verify(token, ADDRESS)));
      said.push(withoutPrincipal(await room.verifier.verify(token, ADDRESS)));
    }
    await vi.advanceTimersByTimeAsync(60_000);
  }
  said.push(
    readBearer(`${MARKER} ${MARKER}`, ['bearer'], 16_384),
    readBearer(`Bearer ${MARKER.repeat(2_000)}`, ['bearer'], 16_384),
  );
  const good = await room.verifier.verify(signToken(rsa, { ...claims, jti: MARKER }), ADDRESS);
  expect(good.kind).toBe('user');
  const text = inspect([...said, room.recorder.events, good], {
    depth: 10,
    maxStringLength: null,
    maxArrayLength: null,
  });
  expect(text).not.toContain(MARKER);
  expect(text).not.toContain(base64Url(MARKER).slice(0, 12));
  // What was announced is of every kind, or the two lines above would prove little.
  const kinds = new Set(room.recorder.events.map(([name]) => name));
  expect([...kinds].sort()).toEqual([
    ...['budgetSpent', 'keySetFailed', 'keySetLoaded', 'signatureChecked', 'tokenRefused', 'tokenUndecided'],
  ]);
});
