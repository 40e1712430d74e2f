import { describe, expect, it } from 'vitest';
import type { AccessTokenOptions } from '../../../../../src/identity/auth/index.ts';
import { refuseClaims } from '../../../../../src/identity/auth/token/claims.ts';
import { parseJwt } from '../../../../../src/identity/auth/token/jwt.ts';
import { base64Url } from '../../../../support/token-issuer.ts';
import { claims, inWords, options, START_MS, START_S } from '../fixture.ts';

interface Case {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly options?: Partial<AccessTokenOptions>;
  readonly nowMs?: number;
}

/** `valid`, or the refusal in words, of the usual claims with these changed (undefined removes one). */
function outcome(changed: Readonly<Record<string, unknown>>, rest: Case = {}): string {
  const header = JSON.stringify({ alg: 'RS256', typ: 'JWT', ...rest.header });
  const jwt = parseJwt(`${base64Url(header)}.${base64Url(JSON.stringify({ ...claims, ...changed }))}.AAAA`);
  if (jwt.kind === 'invalid') return inWords(jwt);
  const refusal = refuseClaims(jwt, { ...options, ...rest.options }, rest.nowMs ?? START_MS);
  return refusal === null ? 'valid' : inWords(refusal);
}

const THUMBPRINT = 'x5t#S256';
const PRINT = 'a'.repeat(43);

describe('the confirmation of a token', () => {
  it('is the thumbprint of one certificate, and nothing beside it', () => {
    expect(outcome({ cnf: { [THUMBPRINT]: PRINT } })).toBe('valid');
    for (const cnf of [{}, { [THUMBPRINT]: PRINT, jkt: 'key' }, { jkt: 'key' }, null, PRINT])
      expect(outcome({ cnf }), JSON.stringify(cnf)).toBe('invalid confirmation');
    for (const print of ['', [PRINT], `${PRINT}a`, `${PRINT}=`, `${PRINT.slice(1)}+`, 43])
      expect(outcome({ cnf: { [THUMBPRINT]: print } }), `${print}`).toBe('invalid confirmation');
  });
});

describe('with dpop, the confirmation of a token', () => {
  const bound = (cnf: unknown, more: object = {}) =>
    outcome({ cnf, ...more }, { options: { dpop: 'accepted' } });

  it('may be the thumbprint of one key, and nothing beside it', () => {
    expect(bound({ jkt: PRINT })).toBe('valid');
    expect(bound({ [THUMBPRINT]: PRINT })).toBe('valid');
    for (const jkt of ['', 'x', 7, null, [PRINT], `${PRINT}=`, `${PRINT.slice(1)}/`])
      expect(bound({ jkt }), `${jkt}`).toBe('invalid confirmation');
    expect(bound({ jkt: PRINT, [THUMBPRINT]: PRINT })).toBe('invalid confirmation');
    expect(bound({ jkt: PRINT, more: 7 })).toBe('invalid confirmation');
    expect(bound({ jkt: PRINT, 'kc-jkt-type': 'DPoP' })).toBe('valid');
    expect(bound({ jkt: PRINT, 'kc-jkt-type': 'attestation' })).toBe('invalid confirmation');
    expect(bound({ [THUMBPRINT]: PRINT, 'kc-jkt-type': 'DPoP' })).toBe('invalid confirmation');
    expect(bound(PRINT)).toBe('invalid confirmation');
  });

  it('goes with a payload that names the scheme, as Keycloak writes it', () => {
    expect(bound({ jkt: PRINT }, { typ: 'DPoP' })).toBe('valid');
    expect(bound({ [THUMBPRINT]: PRINT }, { typ: 'DPoP' })).toBe('invalid token_kind');
    expect(bound(undefined, { typ: 'DPoP' })).toBe('invalid token_kind');
    expect(bound({ jkt: PRINT }, { typ: 'ID' })).toBe('invalid token_kind');
    expect(outcome({ cnf: { jkt: PRINT }, typ: 'DPoP' })).toBe('invalid confirmation');
  });
});

describe('the times of a token', () => {
  it('make it valid from its iat less the leeway to its exp with the leeway', () => {
    expect(outcome({}, { nowMs: START_MS - 30_001 })).toBe('invalid not_yet_valid');
    expect(outcome({}, { nowMs: START_MS - 30_000 })).toBe('valid');
    expect(outcome({}, { nowMs: START_MS + 329_999 })).toBe('valid');
    expect(outcome({}, { nowMs: START_MS + 330_000 })).toBe('invalid expired');
  });

  it('make it valid no sooner than its nbf less the leeway', () => {
    expect(outcome({ nbf: START_S + 30 })).toBe('valid');
    expect(outcome({ nbf: START_S + 31 })).toBe('invalid not_yet_valid');
  });

  it('may have fractions', () => {
    expect(outcome({ exp: START_S - 29.5 })).toBe('valid');
    expect(outcome({ exp: START_S - 30.5 })).toBe('invalid expired');
  });

  it('may be no further apart than tokens may live', () => {
    const bounded = (exp: number) => outcome({ exp }, { options: { maxLifetimeMs: 300_000 } });
    expect([bounded(START_S + 300), bounded(START_S + 300.5)]).toEqual(['valid', 'invalid lifetime']);
    expect(outcome({ exp: 9e15 })).toBe('valid');
  });

  it.each(['exp', 'iat'])('must have %s', name => {
    expect(outcome({ [name]: undefined })).toBe(`invalid claim ${name}`);
  });

  it('must have its iat in seconds', () => {
    expect(outcome({ iat: START_MS })).toBe('invalid claim iat');
  });

  it.each(['exp', 'iat', 'nbf'])('must have a number as %s', name => {
    for (const value of [null, true, '1795262400', [START_S], {}, '']) {
      expect(outcome({ [name]: value })).toBe(`invalid claim ${name}`);
    }
  });

  it('must be finite', () => {
    const payload = base64Url(JSON.stringify(claims).replace(`${claims.exp}`, '1e999'));
    const jwt = parseJwt(`${base64Url('{"alg":"RS256"}')}.${payload}.AAAA`);
    expect(jwt.kind === 'jwt' && refuseClaims(jwt, options, START_MS)).toMatchObject({ claim: 'exp' });
  });
});

describe('the issuer', () => {
  it.each([
    'https://id.example.com/realms/main/',
    ...['https://ID.example.com/realms/main', 'https://evil.example', ''],
  ])('is refused as %j', iss => {
    expect(outcome({ iss })).toBe('invalid issuer');
  });

  it.each([[undefined], [null], [['https://id.example.com/realms/main']], [7]])(
    'has to be text, not %j',
    iss => {
      expect(outcome({ iss })).toBe('invalid claim iss');
    },
  );
});

describe('the audience', () => {
  it.each([['api'], [['api']], [['account', 'api']]])('%j names the configured one', aud => {
    expect(outcome({ aud })).toBe('valid');
  });

  it.each([['account'], [['account']], [[]], ['API'], [''], ['api account'], [undefined]])(
    '%j does not',
    aud => {
      expect(outcome({ aud })).toBe('invalid audience');
    },
  );

  it.each([[null], [7], [{ api: true }], [['api', 7]], [[['api']]]])('%j is of the wrong type', aud => {
    expect(outcome({ aud })).toBe('invalid claim aud');
    expect(outcome({ aud }, { options: { audience: null } })).toBe('invalid claim aud');
  });

  it.each([['account'], [['a', 'b']], [[]], [undefined]])('%j will do where any is configured', aud => {
    expect(outcome({ aud }, { options: { audience: null } })).toBe('valid');
  });
});

describe('an audience of several', () => {
  const two = { audience: ['api', 'https://api.example.com'] };

  it.each([['api'], ['https://api.example.com'], [['other', 'https://api.example.com']]])(
    'may be %j',
    aud => {
      expect(outcome({ aud }, { options: two })).toBe('valid');
    },
  );

  it.each([['api,https://api.example.com'], [['other']], [[]], [undefined]])('is not %j', aud => {
    expect(outcome({ aud }, { options: two })).toBe('invalid audience');
  });

  it('is not enough for a token without a mark if it is the gateway’s own client: an ID token has the same', () => {
    const own = { options: { ...two, clientId: 'api' } };
    expect(outcome({ typ: undefined, aud: 'api' }, own)).toBe('invalid token_kind');
    expect(outcome({ typ: undefined, aud: ['api', 'https://api.example.com'] }, own)).toBe('valid');
    expect(outcome({ aud: 'api' }, own)).toBe('valid');
  });
});

describe('an audience in another claim', () => {
  const cognito = { options: { audience: ['app'], audienceClaim: 'client_id', clientId: 'app' } };
  const ofCognito = { typ: undefined, aud: undefined, client_id: 'app', token_use: 'access' };

  it('is compared as aud is', () => {
    expect(outcome(ofCognito, cognito)).toBe('valid');
    expect(outcome({ ...ofCognito, client_id: 'other' }, cognito)).toBe('invalid audience');
    expect(outcome({ ...ofCognito, client_id: undefined, aud: 'app' }, cognito)).toBe('invalid audience');
    expect(outcome({ ...ofCognito, client_id: 7 }, cognito)).toBe('invalid claim client_id');
  });

  it('says nothing of the kind of a token where it is the gateway’s own client', () => {
    expect(outcome({ ...ofCognito, token_use: undefined }, cognito)).toBe('invalid token_kind');
  });
});

describe('the kind of a token', () => {
  it.each(['id', 'ACCESS', '', null, 7, ['access']])('is not access with %j as token_use', token_use => {
    expect(outcome({ token_use })).toBe('invalid token_kind');
    expect(outcome({ token_use }, { header: { typ: 'at+jwt' } })).toBe('invalid token_kind');
  });

  it('is access with token_use access, whatever the audience, unless something else speaks against it', () => {
    const access = { typ: undefined, aud: undefined, token_use: 'access' };
    const loose = { options: { audience: null } };
    expect(outcome(access, loose)).toBe('valid');
    expect(outcome({ ...access, typ: 'ID' }, loose)).toBe('invalid token_kind');
    expect(outcome({ ...access, at_hash: 'x' }, loose)).toBe('invalid token_kind');
    expect(outcome(access, { ...loose, header: { typ: 'logout+jwt' } })).toBe('invalid token_kind');
  });

  it.each(['ID', 'Refresh', 'Offline', 'Logout', 'DPoP', 'bearer', '', null, 7, ['Bearer']])(
    'is not access with %j as typ in the payload',
    typ => {
      expect(outcome({ typ })).toBe('invalid token_kind');
      expect(outcome({ typ }, { header: { typ: 'at+jwt' } })).toBe('invalid token_kind');
    },
  );

  it.each(['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'JOSE', 'xapplication/jwt', 'at+application/jwt', ''])(
    'is not access with %j as typ in the header',
    typ => {
      expect(outcome({}, { header: { typ } })).toBe('invalid token_kind');
    },
  );

  it.each(['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', undefined])(
    'may be access with %j as typ in the header',
    typ => {
      expect(outcome({}, { header: { typ } })).toBe('valid');
    },
  );

  it.each([
    ['an ID token', { at_hash: 'x', nonce: 'y' }],
    ['a logout token', { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }],
  ])('is that of %s by the members that only it has', (_, members) => {
    expect(outcome({ typ: undefined, ...members })).toBe('invalid token_kind');
  });

  it.each([
    ['Casdoor', { tokenType: 'refresh-token' }],
    ['PingAM', { tokenName: 'refresh_token' }],
    ['PingAM', { tokenName: 'id_token' }],
    ['Django REST framework', { token_type: 'refresh' }],
    ['Flask', { type: 'refresh' }],
    ['Spring Security OAuth', { ati: '5f2b' }],
    ['UAA', { jti: '5f2b-r', granted_scopes: ['openid'] }],
  ])('is not access where a token of %s says so: %j', (_, says) => {
    for (const typ of [undefined, 'Bearer'])
      expect(outcome({ typ, ...says }, { options: { tokenKind: 'access_or_id' } })).toBe(
        'invalid token_kind',
      );
    expect(outcome({ typ: undefined, ...says })).toBe('invalid token_kind');
  });

  it.each([
    { tokenType: 'access-token' },
    { tokenName: 'access_token' },
    { token_type: 'access' },
    { type: 'user' },
    { type: 7, token_type: ['refresh'] },
  ])('may be access with %j', says => {
    expect(outcome({ typ: undefined, ...says })).toBe('valid');
  });

  const unmarked = { typ: undefined };
  it('of a token without a mark is access only with an audience other than the gateway’s client id', () => {
    expect(outcome(unmarked)).toBe('valid');
    expect(outcome(unmarked, { options: { clientId: null } })).toBe('valid');
    expect(outcome(unmarked, { options: { audience: null } })).toBe('invalid token_kind');
    expect(outcome(unmarked, { options: { clientId: 'api' } })).toBe('invalid token_kind');
  });

  it('is known by either mark if the audience says nothing', () => {
    for (const loose of [{ audience: null }, { clientId: 'api' }]) {
      expect(outcome({}, { options: loose })).toBe('valid');
      expect(outcome(unmarked, { options: loose, header: { typ: 'at+jwt' } })).toBe('valid');
    }
  });
});

describe('the kind of a token, where nothing tells access tokens from ID tokens', () => {
  const either = { options: { tokenKind: 'access_or_id' } } as const;
  const ofDex = { typ: undefined, at_hash: 'x', nonce: 'n', c_hash: 'y' };

  it('is not judged', () => {
    expect(outcome(ofDex, either)).toBe('valid');
    expect(outcome(ofDex, { options: { ...either.options, clientId: 'api' } })).toBe('valid');
  });

  it('is judged all the same by what a token says of itself', () => {
    for (const says of [{ typ: 'ID' }, { typ: 'Refresh' }, { token_use: 'id' }, { events: {} }])
      expect(outcome({ ...ofDex, ...says }, either), JSON.stringify(says)).toBe('invalid token_kind');
    expect(outcome(ofDex, { ...either, header: { typ: 'logout+jwt' } })).toBe('invalid token_kind');
  });

  it('leaves the audience to be compared', () => {
    expect(outcome({ ...ofDex, aud: 'gateway' }, either)).toBe('invalid audience');
    expect(outcome({ ...ofDex, aud: undefined }, either)).toBe('invalid audience');
  });
});

describe('the kind of a token, where a claim of its own tells it', () => {
  const ofAuthentik = { options: { tokenKind: { claim: 'uid', value: null }, clientId: 'api' } };
  const ofAm = { options: { tokenKind: { claim: '/token/name', value: 'access_token' }, clientId: 'api' } };
  const unmarked = { typ: undefined };

  it('is access with that claim, whatever the audience', () => {
    expect(outcome({ ...unmarked, uid: 'u' }, ofAuthentik)).toBe('valid');
    expect(outcome({ ...unmarked, token: { name: 'access_token' } }, ofAm)).toBe('valid');
  });

  it('is not access without it, even with another audience', () => {
    for (const uid of [undefined, null, false, ''])
      expect(outcome({ ...unmarked, uid }, ofAuthentik)).toBe('invalid token_kind');
    expect(outcome(unmarked, { options: { ...ofAuthentik.options, clientId: 'gateway' } })).toBe(
      'invalid token_kind',
    );
    expect(outcome({ ...unmarked, token: { name: 'id_token' } }, ofAm)).toBe('invalid token_kind');
  });

  it('is access with the mark of a standard as well, and never with that of another kind', () => {
    expect(outcome({}, ofAuthentik)).toBe('valid');
    expect(outcome(unmarked, { ...ofAuthentik, header: { typ: 'at+jwt' } })).toBe('valid');
    for (const says of [{ typ: 'ID' }, { at_hash: 'x' }, { events: {} }, { token_use: 'id' }])
      expect(outcome({ ...unmarked, uid: 'u', ...says }, ofAuthentik)).toBe('invalid token_kind');
  });
});

describe('a member named __proto__', () => {
  it('does not lend its members to the claims', () => {
    const payload = JSON.stringify({ ...claims, iss: undefined }).replace(
      '{',
      `{"__proto__":{"iss":"${options.issuer}"},`,
    );
    const jwt = parseJwt(`${base64Url('{"alg":"RS256"}')}.${base64Url(payload)}.AAAA`);
    expect(jwt.kind === 'jwt' && refuseClaims(jwt, options, START_MS)).toMatchObject({ claim: 'iss' });
  });
});
