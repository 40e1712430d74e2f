import { describe, expect, it } from 'vitest';
import { digestOf } from '../../../../src/core/index.ts';
import {
  revocableOf,
  sessionDigest,
  unnamedSessionsDigest,
} from '../../../../src/identity/auth/revocation-rules.ts';

const of = (claims: Record<string, unknown>, signingInput = 'e30.e30') =>
  revocableOf({ claims, signingInput });

describe('what a token is revoked by', () => {
  it('is its time, its subject and its session', () => {
    expect(of({ iat: 7, sub: 'ada', sid: 's1', jti: 'j1' })).toEqual({
      issuedAtS: 7,
      subject: digestOf('ada'),
      session: sessionDigest('s1'),
      unnamedSessions: null,
    });
  });

  it('is nothing of a subject where it has none', () => {
    expect(of({ iat: 7 }).subject).toBeNull();
  });

  it.each([undefined, '', 7, null])(
    'is the token itself where sid is %j: its jti, or what was signed',
    sid => {
      expect(of({ sid, jti: 'j1' }).session).toBe(of({ sid, jti: 'j1' }, 'other').session);
      expect(of({ sid, jti: 'j1' }).session).not.toBe(of({ sid, jti: 'j2' }).session);
      expect(of({ sid }).session).not.toBe(of({ sid }, 'other').session);
    },
  );

  it.each([undefined, '', 7, null])(
    'is also what all tokens of its subject without a session have in common, where sid is %j',
    sid => {
      const { unnamedSessions } = of({ sub: 'ada', sid, jti: 'j1' });
      expect(unnamedSessions).toBe(unnamedSessionsDigest('ada'));
      expect(of({ sub: 'bob', sid }).unnamedSessions).not.toBe(unnamedSessions);
      expect(of({ sid }).unnamedSessions).toBeNull();
      // No session and no token can be named so that it ends with them.
      expect([sessionDigest('ada'), digestOf('ada')]).not.toContain(unnamedSessions);
    },
  );

  it('never is the same for a session and a token that bear one name', () => {
    expect(of({ sid: 'x' }).session).not.toBe(of({ jti: 'x' }).session);
  });
});
