import { describe, expect, it } from 'vitest';
import { readLogout } from '../../../../src/identity/auth/notice-token.ts';
import { options, START_S } from './fixture.ts';
import { EVENT, LOGOUT } from './notices/room.ts';

const TERMS = { issuer: options.issuer, tenants: null, clientId: 'gateway', nowS: START_S, leewayS: 30 };
const read = (changed: Record<string, unknown>, type: string | null = 'logout+jwt') =>
  readLogout({ claims: { ...LOGOUT, ...changed }, type }, TERMS);
const flaw = (changed: Record<string, unknown>, type?: string | null) => {
  const found = read(changed, type);
  return found.kind === 'flawed' ? (found.claim ?? found.flaw) : found.kind;
};
/** Without this claim. */
const lacking = (name: string) => {
  const { [name]: _, ...claims } = LOGOUT as Record<string, unknown>;
  const found = readLogout({ claims, type: 'logout+jwt' }, TERMS);
  return found.kind === 'flawed' ? (found.claim ?? found.flaw) : found.kind;
};

describe('a logout token', () => {
  it('names the session, or the subject, or both', () => {
    const logout = { kind: 'logout', id: 'f4f2', expiresS: START_S + 120, issuedAtS: START_S };
    expect(read({})).toEqual({ ...logout, sid: 's1', subject: 'ada' });
    const { sid: _, ...withoutSid } = LOGOUT;
    expect(readLogout({ claims: withoutSid, type: null }, TERMS)).toEqual({
      ...logout,
      sid: null,
      subject: 'ada',
    });
    expect(lacking('sub')).toBe('logout');
  });

  it('needs no typ among its claims, which only Keycloak writes', () => {
    expect(lacking('typ')).toBe('logout');
  });

  it('without exp, as Ory Hydra and older ones of Keycloak send it, is valid for two minutes', () => {
    const { exp: _, ...claims } = LOGOUT;
    const without = (iat: number) => readLogout({ claims: { ...claims, iat }, type: null }, TERMS);
    expect(without(START_S - 149)).toMatchObject({ kind: 'logout', expiresS: START_S - 29 });
    expect(without(START_S - 150)).toMatchObject({ kind: 'flawed', flaw: 'expired' });
    expect(without(START_S + 31)).toMatchObject({ kind: 'flawed', flaw: 'not_yet_valid' });
    expect(flaw({ exp: null })).toBe('exp');
  });

  it('may have its event as PHP writes an empty object', () => {
    expect(flaw({ events: { [EVENT]: [] } })).toBe('logout');
  });

  it('with neither is refused, and so is one with either of the wrong type', () => {
    const { sid: _, sub: __, ...claims } = LOGOUT;
    expect(readLogout({ claims, type: null }, TERMS)).toMatchObject({ kind: 'flawed', claim: 'sid' });
    for (const name of ['sid', 'sub'])
      for (const value of ['', 7, null, ['s1'], '\ud800']) expect(flaw({ [name]: value })).toBe(name);
  });

  it.each([
    ['application/logout+jwt', 'logout'],
    ['Logout+JWT', 'logout'],
    ['JWT', 'logout'],
    [null, 'logout'],
    ['at+jwt', 'token_kind'],
    ['secevent+jwt', 'token_kind'],
    ['logout+application/jwt', 'token_kind'],
  ])('of the type %j is one: %s', (type, expected) => {
    expect(flaw({}, type)).toBe(expected);
  });

  it.each([
    ['typ', 'ID', 'token_kind'],
    ['typ', 'Bearer', 'token_kind'],
    ['nonce', 'n', 'token_kind'],
    ['nonce', null, 'token_kind'],
    ['events', {}, 'events'],
    ['events', [EVENT], 'events'],
    ['events', { [EVENT]: null }, 'events'],
    ['events', { [EVENT]: 'yes' }, 'events'],
    ['events', { 'http://schemas.openid.net/secevent/risc': {} }, 'events'],
    ['iss', `${options.issuer}/`, 'issuer'],
    ['iss', [options.issuer], 'iss'],
    ['aud', 'another', 'audience'],
    ['aud', ['another'], 'audience'],
    ['aud', ['gateway', 7], 'aud'],
    ['aud', [], 'aud'],
    ['iat', 'now', 'iat'],
    ['iat', -1, 'iat'],
    ['iat', START_S + 31, 'not_yet_valid'],
    ['exp', '9', 'exp'],
    ['exp', START_S - 30, 'expired'],
    ['exp', START_S + 3_631, 'lifetime'],
    ['jti', '', 'jti'],
    ['jti', 7, 'jti'],
  ])('with %s %j is refused', (name, value, expected) => {
    expect(flaw({ [name]: value })).toBe(expected);
  });

  it.each(['iss', 'aud', 'iat', 'jti', 'events'])('without %s is refused', name => {
    expect(lacking(name)).toBe(name);
  });

  it('is in force within the leeway, for several audiences, and for an hour at most', () => {
    expect(flaw({ aud: ['other', 'gateway'], iat: START_S + 30, exp: START_S - 29 })).toBe('logout');
    expect(flaw({ exp: START_S + 3_630 })).toBe('logout');
  });
});
