import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf } from '../../../../src/core/index.ts';
import { callerOf, claimOf, NO_CLAIMS } from '../../../../src/identity/auth/caller.ts';
import type { AccessTokenOptions, Caller } from '../../../../src/identity/auth/index.ts';
import { revocableOf } from '../../../../src/identity/auth/revocation-rules.ts';
import { readKeySet } from '../../../../src/identity/auth/token/jwk.ts';
import { played } from '../../../support/runs.ts';
import { keySetJson } from '../../../support/token-issuer.ts';
import { claims, ecdsa, inWords, options, START_MS, START_S } from './fixture.ts';

const [key] = readKeySet(Buffer.from(keySetJson([ecdsa])), 1, []).keys;

function read(changed: Readonly<Record<string, unknown>>, changedOptions: Partial<AccessTokenOptions> = {}) {
  if (key === undefined) throw new Error('no key');
  const all = { ...claims, ...changed };
  const revocable = revocableOf({ claims: all, signingInput: 'e30.e30' });
  return callerOf(all, revocable, { ...options, ...changedOptions }, key);
}

function caller(
  changed: Readonly<Record<string, unknown>>,
  changedOptions: Partial<AccessTokenOptions> = {},
): Caller {
  const found = read(changed, changedOptions);
  if (found.kind === 'invalid') throw new Error(`refused: ${inWords(found)}`);
  return found;
}

const fields = (changed: Readonly<Record<string, unknown>>) => caller(changed).identityFields;

describe('a principal', () => {
  const LONG = 'x'.repeat(300);

  it('stays as it was recorded where there is one issuer: counters and pseudonyms depend on it', () => {
    expect(caller({}).principal).toBe('user:web ada');
    expect(caller({ client_id: 'robot', azp: 'robot' }).principal).toBe('bot:robot');
    expect(caller({ sub: 'Ada L\u00e9', azp: '50%' }).principal).toBe('user:50%25 Ada%20L%C3%A9');
    expect(caller({ sub: LONG }).principal).toBe(
      'user#bd2a48803cc9116785f1ccb0f627beceeececed6a4411f72bc8bc50c5ba6667c',
    );
  });

  it('begins with the issuer where there are several', () => {
    const several = { isOneOfSeveral: true };
    expect(caller({}, several).principal).toBe('user:https://id.example.com/realms/main web ada');
    expect(caller({ client_id: 'robot', azp: 'robot' }, several).principal).toBe(
      'bot:https://id.example.com/realms/main robot',
    );
    const other = { ...several, issuer: 'https://id.example.com/realms/other' };
    expect(caller({ sub: LONG }, several).principal).not.toBe(caller({ sub: LONG }, other).principal);
    expect(caller({}, several).issuer).toBe('https://id.example.com/realms/main');
  });
});

describe('a caller', () => {
  it('is a user with the client and subject as principal', () => {
    expect(caller({})).toMatchObject({
      kind: 'user',
      principal: 'user:web ada',
      subject: digestOf('ada'),
      expiresAtMs: START_MS + 330_000,
      issuedAtS: START_S,
      identityFields: ['X-Auth-Subject', 'ada', 'X-Auth-Client', 'web'],
    });
  });

  it('is a bot with the client as principal if the claim of bots is present', () => {
    const found = caller({ client_id: 'robot', azp: 'robot', sub: 'service-account' });
    expect(found).toMatchObject({
      kind: 'bot',
      principal: 'bot:robot',
      subject: digestOf('service-account'),
    });
  });

  it('is not a bot by a claim that only the prototype of every object has', () => {
    expect(caller({}, { bots: { claim: 'constructor', value: null, principal: ['azp'] } }).kind).toBe('user');
  });

  it.each([[null], [false], ['']])('is not a bot if the claim of bots is %j', value => {
    expect(caller({ client_id: value }).kind).toBe('user');
  });

  it('is a user if there is no rule for bots', () => {
    expect(caller({ client_id: 'robot' }, { bots: null }).kind).toBe('user');
  });

  it.each([['bots'], [['staff', 'bots']]])('is a bot by the value %j if the rule names one', groups => {
    const bots = { claim: 'groups', value: 'bots', principal: ['azp'] };
    expect(caller({ groups }, { bots }).kind).toBe('bot');
  });

  it.each([['staff'], [['robots']], [{ bots: 1 }], [[['bots']]], [undefined], [null]])(
    'is not a bot by the value %j',
    groups => {
      const bots = { claim: 'groups', value: 'bots', principal: ['azp'] };
      expect(caller({ groups }, { bots }).kind).toBe('user');
    },
  );

  it('is a bot by a claim that is true', () => {
    const bots = { claim: 'is_bot', value: 'true', principal: ['azp'] };
    expect(caller({ is_bot: true }, { bots }).kind).toBe('bot');
    expect(caller({ is_bot: false }, { bots }).kind).toBe('user');
  });

  it.each(['azp', 'sub'])('does not exist without %s in its principal', name => {
    for (const value of [undefined, null, '', 7, ['ada'], '\ud800']) {
      expect(inWords(read({ [name]: value }))).toBe(`invalid claim ${name}`);
    }
  });

  it('needs no claim that its principal does not name', () => {
    expect(caller({ azp: undefined }, { principal: ['sub'] })).toMatchObject({ principal: 'user:ada' });
  });

  it('may be identified by a claim named like a method of every object', () => {
    expect(inWords(read({}, { principal: ['constructor'] }))).toBe('invalid claim constructor');
    expect(caller({ constructor: 'x' }, { principal: ['constructor'] }).principal).toBe('user:x');
  });
});

describe('the claims that a caller keeps', () => {
  const kept = (changed: Readonly<Record<string, unknown>>, keptClaims: readonly string[]) =>
    caller(changed, { keptClaims });

  it('are those that the configuration names, as they stand in the token', () => {
    const found = kept({ plan: { name: 'gold', seats: [1, 2] }, other: 'x', none: null }, [
      'none',
      'plan',
      'rate',
    ]);
    expect(found.claims).toEqual({ plan: { name: 'gold', seats: [1, 2] }, none: null });
    expect(claimOf(found, 'plan')).toEqual({ name: 'gold', seats: [1, 2] });
    expect(claimOf(found, 'rate')).toBeUndefined();
  });

  it('are one and the same empty object where none is named or present', () => {
    expect(kept({ plan: 'gold' }, []).claims).toBe(NO_CLAIMS);
    expect(kept({}, ['plan']).claims).toBe(NO_CLAIMS);
    expect(Object.isFrozen(NO_CLAIMS)).toBe(true);
  });

  it('never come from the prototype of every object, nor change it', () => {
    const names = ['__proto__', 'constructor', 'toString'];
    expect(kept({}, names).claims).toBe(NO_CLAIMS);
    const found = kept(JSON.parse('{"__proto__":{"plan":"gold"},"toString":7}'), [...names, 'plan']);
    expect(claimOf(found, '__proto__')).toEqual({ plan: 'gold' });
    expect(claimOf(found, 'toString')).toBe(7);
    expect(claimOf(found, 'plan')).toBeUndefined();
    expect(claimOf(found, 'constructor')).toBeUndefined();
  });
});

describe('a principal of several claims', () => {
  const both = { claim: 'is_bot', value: 'true', principal: ['azp', 'sub'] };
  const principal = (azp: string, sub: string, bot: boolean) =>
    caller({ azp, sub, is_bot: bot }, { bots: both }).principal;

  it('differs for every pair of claims, and between a bot and a user', () => {
    const character = fc.constantFrom('a', ' ', '%', '2', '0', ':', '#', '\u00e9', '\u{1f600}');
    // One text cut in two at any place, so that pairs differ in nothing but where the first claim ends.
    const cut = (text: readonly string[], at: number): [string, string] => {
      const end = 1 + (at % (text.length - 1));
      return [text.slice(0, end).join(''), text.slice(end).join('')];
    };
    fc.assert(
      fc.property(
        fc.array(character, { minLength: 2, maxLength: 6 }),
        fc.nat(),
        fc.nat(),
        (text, at, other) => {
          const [one, two] = [cut(text, at), cut(text, other)];
          expect(principal(...one, false) === principal(...two, false)).toBe(one[0] === two[0]);
          expect(principal(...one, true)).not.toBe(principal(...two, false));
        },
      ),
      played(1_000),
    );
    expect(principal('a b', 'c', false)).not.toBe(principal('a', 'b c', false));
  });

  it('is ASCII of at most 256 characters, whatever the claims are', () => {
    const long = caller({ sub: '\u00e9'.repeat(5_000) }).principal;
    expect(long).toMatch(/^user#[0-9a-f]{64}$/);
    expect(caller({ sub: '\u00e9'.repeat(5_001) }).principal).not.toBe(long);
    expect(caller({ sub: 'a'.repeat(247) }).principal).toHaveLength(256);
    expect(caller({ sub: 'a'.repeat(248) }).principal).toMatch(/^user#/);
  });
});

describe('the identity fields', () => {
  it('are percent-encoded UTF-8 outside 0x21 to 0x7e, the percent sign included', () => {
    expect(fields({ sub: 'Zo\u00eb 100%\r\nX-Admin: 1\u007f' })[1]).toBe(
      'Zo%C3%AB%20100%25%0D%0AX-Admin:%201%7F',
    );
    expect(fields({ sub: '\u{1f600}!~' })[1]).toBe('%F0%9F%98%80!~');
  });

  it('contain numbers and booleans, and leave out every other type', () => {
    const identityHeaders = ['number', 'yes', 'list', 'object', 'nothing', 'missing', 'broken'].map(
      claim => ({ name: `X-${claim}`, claim }),
    );
    const changed = {
      number: -1.5,
      yes: true,
      list: [[], {}, null],
      object: {},
      nothing: null,
      broken: '\udc00',
    };
    expect(caller(changed, { identityHeaders }).identityFields).toEqual([
      ...['X-number', '-1.5', 'X-yes', 'true'],
    ]);
  });

  it('hold the elements of a list, with a comma between them and none that is not encoded inside', () => {
    const identityHeaders = ['groups', '/org/teams'].map(claim => ({ name: `X${claim}`, claim }));
    const changed = { groups: ['a,b', 'é d', 7, {}, '%2C'], org: { teams: ['x'] } };
    expect(caller(changed, { identityHeaders }).identityFields).toEqual([
      ...['Xgroups', 'a%2Cb,%C3%A9%20d,7,%252C', 'X/org/teams', 'x'],
    ]);
  });

  it('never hold a byte that could end a field, and can be read back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), sub => {
        const value = fields({ sub })[1] ?? '';
        expect(value).toMatch(/^[\x21-\x7e]+$/);
        expect(decodeURIComponent(value)).toBe(sub);
      }),
    );
  });
});
