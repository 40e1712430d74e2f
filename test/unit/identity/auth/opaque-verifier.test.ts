import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GatewayError, ownMemory, type TokenReply } from '../../../../src/core/index.ts';
import {
  type AccessTokenOptions,
  EitherVerifier,
  isOpaque,
  OpaqueVerifier,
  REVOCATION_LIMITS,
  Revocations,
  VerificationBudget,
} from '../../../../src/identity/auth/index.ts';
import { revocableOf } from '../../../../src/identity/auth/revocation-rules.ts';
import { BUDGET_OPTIONS, CACHE_OPTIONS } from '../../../support/identity-options.ts';
import { played } from '../../../support/runs.ts';
import { signToken } from '../../../support/token-issuer.ts';
import {
  ADDRESS,
  clock,
  freezeTime,
  inWords,
  claims as ofJwt,
  openRoom,
  options,
  Recorder,
  rsa,
  ScriptedIssuer,
  START_S,
} from './fixture.ts';

beforeEach(freezeTime);
afterEach(() => void vi.useRealTimers());

const TOKEN = 'ory_at_8Xk.9-_~+/=';
const { typ: _, iss: __, ...claims } = ofJwt;
const MEMBERS = { active: true, token_type: 'Bearer', ...claims };
const ANY = Number.POSITIVE_INFINITY;
const away = (reached: boolean): TokenReply => ({
  error: new GatewayError({ status: 503, message: 'away' }),
  reached,
});

interface Changed {
  readonly access?: Partial<AccessTokenOptions>;
  readonly cacheMs?: number;
  readonly limit?: number;
}

function open({ access, cacheMs = 30_000, limit = 1_000 }: Changed = {}) {
  const recorder = new Recorder();
  const revocations = new Revocations(REVOCATION_LIMITS, clock, () => {}).of(options.issuer);
  const budget = new VerificationBudget(
    { ...BUDGET_OPTIONS, limit },
    clock,
    ownMemory(randomBytes),
    'tokens',
  );
  const room = {
    ...{ recorder, revocations, budget },
    questions: [] as (readonly [token: string, address: string | null])[],
    /** How old the answers to them may be. */
    ages: [] as number[],
    answer: async (): Promise<TokenReply> => says(MEMBERS),
    full: false,
  };
  const verifier = new OpaqueVerifier({ ...options, ...access }, cacheMs, CACHE_OPTIONS, {
    ask(token, address, answerAgeMs) {
      if (room.full) return away(false);
      room.ages.push(answerAgeMs);
      room.questions.push([token, address]);
      return room.answer();
    },
    ...{ revocations, budget, clock, listener: recorder },
  });
  const judge = async (token = TOKEN, address = ADDRESS, maxAgeMs = ANY) =>
    inWords(await verifier.verify(token, address, maxAgeMs));
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  /** The caller of the token, which has to be active. */
  const caller = async (token = TOKEN) => {
    const verdict = await verifier.verify(token, ADDRESS, ANY);
    if (verdict.kind !== 'user') throw new Error(inWords(verdict));
    return verdict;
  };
  return Object.assign(room, { verifier, judge, pass, caller });
}

function says(members: object | null): TokenReply {
  return {
    members: members === null ? null : JSON.parse(JSON.stringify(members)),
    askedAtMs: clock.monotonicMs(),
  };
}

const judgeAnswer = async (members: object, access: Partial<AccessTokenOptions> = {}) => {
  const room = open({ access });
  room.answer = async () => says(members);
  return room.judge();
};

describe('an opaque token', () => {
  it('has two parts at most, or is encrypted; everything else is a JWT, which no answer makes valid', () => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const jwt = signToken(rsa, ofJwt);
    const [header, payload, signature] = jwt.split('.');
    const encrypted = encode({ alg: 'RSA-OAEP', enc: 'A256GCM' });
    for (const token of ['abc', 'ya29.a0Af', '.', 'x.y', `${encrypted}.a.b.c.d`, `${encrypted}..b.c.d`])
      expect(isOpaque(token), token).toBe(true);
    // What a lenient provider could take for the JWT that it is not.
    for (const token of [
      jwt,
      `${jwt}.`,
      `${jwt}..`,
      `${header}=.${payload}.${signature}`,
      ` ${header}.${payload}.${signature}`,
      `${jwt}.a.b`,
      `${encrypted}.a.b.c.`,
      `${encrypted}.a.b..d`,
      `${encrypted}.a..c.d`,
      `${encrypted}.a.b.c.d.e`,
      '..',
      'a.b.c',
    ])
      expect(isOpaque(token), token).toBe(false);
  });

  it('is judged by the provider, a JWT by its signature, each by the verifier that knows its caller', async () => {
    const room = open();
    const jwts = await openRoom(new ScriptedIssuer(rsa));
    const either = new EitherVerifier(jwts.verifier, room.verifier);
    const jwt = signToken(rsa, ofJwt);
    for (const token of [TOKEN, jwt]) {
      const verdict = await either.verify(token, ADDRESS, ANY);
      expect(inWords(verdict)).toBe('user web ada');
      if (verdict.kind !== 'user') continue;
      expect(either.accepts(verdict, ANY)).toBe(true);
      expect(either.remembered(token)).toBe(verdict);
      expect(either.endOf(verdict, null)).toBeNull();
      expect([room.verifier, jwts.verifier].map(each => each.accepts(verdict, ANY))).toEqual([
        token === TOKEN,
        token !== TOKEN,
      ]);
    }
    expect(inWords(await either.verify(`${jwt}.`, ADDRESS, ANY))).toBe('invalid malformed');
    expect(room.questions).toEqual([[TOKEN, ADDRESS]]);
    jwts.keys.close();
  });

  it('that no bearer token is spelled like causes no question', async () => {
    const room = open();
    for (const token of ['a b', 'a,b', 'ä', '"a"', '=', 'a=b', ''])
      expect(await room.judge(token), token).toBe('invalid malformed');
    expect(room.questions).toEqual([]);
  });
});

describe('the answer', () => {
  it('makes the caller as the claims of a JWT do: principal, bot, class, fields, rights', async () => {
    const room = open({
      access: {
        classes: [{ name: 'partner', marked: { claim: 'plan', value: 'gold' }, callers: new Set() }],
        keptClaims: ['plan'],
        requirements: [{ index: 0, scopes: ['a'], roles: [], claims: [] }],
      },
    });
    room.answer = async () => says({ ...MEMBERS, client_id: 'robot', plan: 'gold', scope: 'a b' });
    expect(await room.verifier.verify(TOKEN, ADDRESS, ANY)).toMatchObject({
      ...{ kind: 'bot', class: 'partner', principal: 'bot:web', issuer: options.issuer, key: null },
      ...{ identityFields: ['X-Auth-Subject', 'ada', 'X-Auth-Client', 'web'], shortfalls: 'm' },
      ...{ claims: { plan: 'gold' }, expiresAtMs: (START_S + 330) * 1_000 },
    });
  });

  it.each<[string, object, string]>([
    ['for another audience', { aud: 'other' }, 'invalid audience'],
    ['without the audience', { aud: undefined }, 'invalid audience'],
    ['from another issuer', { iss: 'https://other' }, 'invalid issuer'],
    ['of this issuer', { iss: options.issuer }, 'user web ada'],
    ['without an end', { exp: undefined }, 'invalid claim exp'],
    ['past its end, though called active', { exp: START_S - 31 }, 'invalid expired'],
    ['before its time', { nbf: START_S + 31 }, 'invalid not_yet_valid'],
    ['without the claims that identify a user', { sub: undefined }, 'invalid claim sub'],
    ['of an empty name', { sub: '' }, 'invalid claim sub'],
    ['without iat', { iat: undefined }, 'user web ada'],
    ['about a refresh token, as Keycloak marks it', { typ: 'Refresh' }, 'invalid token_kind'],
    ['about a refresh token, as Hydra marks it', { token_use: 'refresh_token' }, 'invalid token_kind'],
    ['about an access token, as Hydra marks it', { token_use: 'access_token' }, 'user web ada'],
    ['about a kind of its own', { token_type: 'refresh_token' }, 'invalid token_kind'],
    ['about no kind, with the audience of this API', { token_type: undefined }, 'user web ada'],
    ['about no kind, for the gateway alone', { token_type: undefined, aud: 'gateway' }, 'invalid audience'],
    ['in other letters', { token_type: 'bearer' }, 'user web ada'],
    ['bound to a key that is not named', { token_type: 'DPoP' }, 'invalid token_kind'],
    ['bound, of a kind that is no text', { token_type: { toString: 1 }, cnf: {} }, 'invalid confirmation'],
    ['bound to what cannot be checked', { cnf: { kid: 'k' } }, 'invalid confirmation'],
    ['about an ID token', { at_hash: 'x' }, 'invalid token_kind'],
  ])('%s: %s', async (_, changed, words) => {
    expect(await judgeAnswer({ ...MEMBERS, ...changed })).toBe(words);
  });

  it.each<[string, readonly string[], string]>([
    ['PingAM', ['sub', 'iss'], 'user web ada'],
    ['Doorkeeper', ['iat'], 'invalid claim sub'],
  ])('of %s has no aud: the client is the audience', async (_, members, words) => {
    const given = Object.entries({ ...MEMBERS, iss: options.issuer, azp: 'web' });
    const published = given.filter(([name]) =>
      ['active', 'exp', 'token_type', 'azp', ...members].includes(name),
    );
    const said = { ...Object.fromEntries(published), client_id: 'web' };
    const access = { audienceClaim: 'client_id', bots: null };
    expect(await judgeAnswer(said, { ...access, audience: ['web'] })).toBe(words);
    expect(await judgeAnswer(said, { ...access, audience: ['app'] })).toBe('invalid audience');
  });

  it('with null for what the provider does not know says nothing about it', async () => {
    const nulls = {
      iss: null,
      iat: null,
      nbf: null,
      typ: null,
      token_use: null,
      token_type: null,
      cnf: null,
    };
    expect(await judgeAnswer({ ...MEMBERS, ...nulls })).toBe('user web ada');
    expect(await judgeAnswer({ ...MEMBERS, aud: null })).toBe('invalid audience');
    expect(await judgeAnswer({ ...MEMBERS, exp: null })).toBe('invalid claim exp');
  });

  it('about no kind of token does not do where any audience does', async () => {
    expect(await judgeAnswer({ ...MEMBERS, token_type: undefined }, { audience: null })).toBe(
      'invalid token_kind',
    );
    expect(await judgeAnswer(MEMBERS, { audience: null })).toBe('user web ada');
  });

  it('with a certificate binds the caller to it', async () => {
    const room = open();
    const thumbprint = 'a'.repeat(43);
    room.answer = async () => says({ ...MEMBERS, cnf: { 'x5t#S256': thumbprint } });
    expect((await room.caller()).certificate).toBe(thumbprint);
  });

  it('with a key binds the caller to it where proofs are checked, and is refused where they are not', async () => {
    const jkt = 'k'.repeat(43);
    const bound = { ...MEMBERS, token_type: 'DPoP', cnf: { jkt } };
    for (const dpop of ['accepted', 'required'] as const) {
      const room = open({ access: { dpop } });
      room.answer = async () => says(bound);
      expect(await room.caller()).toMatchObject({ proofKey: jkt, certificate: null });
      expect(await judgeAnswer({ ...bound, token_type: 'Bearer' }, { dpop })).toBe('user web ada');
      expect(await judgeAnswer({ ...bound, cnf: undefined }, { dpop })).toBe('invalid token_kind');
      const both = { jkt, 'x5t#S256': jkt };
      expect(await judgeAnswer({ ...bound, cnf: both }, { dpop })).toBe('invalid confirmation');
    }
    expect(await judgeAnswer(bound)).toBe('invalid confirmation');
  });

  it('of any form makes a caller of the issuer or none, and never throws', async () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('api', 'Bearer', 'ada', START_S, START_S + 300, ['api'], null, '__proto__', Number.NaN),
    );
    const names = [
      ...Object.keys(MEMBERS),
      ...['iss', 'typ', 'token_use', 'cnf', 'nbf', 'jti', 'sid', '__proto__'],
    ];
    const members = fc.dictionary(fc.constantFrom(...names), value, { noNullPrototype: false });
    await fc.assert(
      fc.asyncProperty(members, fc.boolean(), async (changed, isWhole) => {
        const room = open();
        const told = isWhole ? { ...MEMBERS, ...changed } : changed;
        room.answer = async () => says(told);
        const verdict = await room.verifier.verify(TOKEN, ADDRESS, ANY);
        if (verdict.kind === 'invalid') return;
        expect(verdict).toMatchObject({ issuer: options.issuer, askedAtMs: 0, key: null });
        expect([told.aud].flat()).toContain('api');
        expect(inWords(verdict)).toMatch(/^(?:user \S+ \S+|bot \S+|(?:user|bot)#[0-9a-f]+)$/);
      }),
      played(1_000),
    );
  });
});

describe('questions', () => {
  it('are one at a time for a token, however many clients wait', async () => {
    const room = open();
    const answers: ((told: TokenReply) => void)[] = [];
    room.answer = () => new Promise(resolve => void answers.push(resolve));
    const many = Array.from({ length: 20 }, (_, i) => room.judge(TOKEN, `192.0.2.${i}`));
    const other = room.judge('other');
    expect(room.questions.map(([token]) => token)).toEqual([TOKEN, 'other']);
    for (const tell of answers) tell(says(MEMBERS));
    expect(new Set([...(await Promise.all(many)), await other])).toEqual(new Set(['user web ada']));
  });

  it('whose answer may be older than another client accepts do not answer that one', async () => {
    const room = open({ cacheMs: 30_000 });
    const answers: ((told: TokenReply) => void)[] = [];
    room.answer = () => new Promise(resolve => void answers.push(resolve));
    const waiting = [ANY, 60_000, 2_000, 1_999, 2_000].map(age => room.judge(TOKEN, ADDRESS, age));
    expect(room.ages).toEqual([30_000, 2_000, 1_999]);
    for (const tell of answers) tell(says(MEMBERS));
    await Promise.all(waiting);
    await room.judge();
    expect(room.ages).toHaveLength(3);
  });

  it('are asked again after the cache time, or what the route says if that is shorter', async () => {
    const room = open({ cacheMs: 30_000 });
    await room.judge();
    await room.pass(29_999);
    expect(await room.judge(TOKEN, ADDRESS, 60_000)).toBe('user web ada');
    expect(room.questions).toHaveLength(1);
    await room.pass(1);
    await room.judge();
    expect(room.questions).toHaveLength(2);
    await room.pass(5_000);
    await room.judge(TOKEN, ADDRESS, 5_001);
    expect(room.questions).toHaveLength(2);
    room.answer = async () => says(null);
    expect(await room.judge(TOKEN, ADDRESS, 5_000)).toBe('invalid inactive');
    expect(room.questions).toHaveLength(3);
    // For every route.
    expect(await room.judge()).toBe('invalid inactive');
    expect(room.verifier.remembered(TOKEN)).toBeNull();
  });

  it.each([
    [30_000, 3_000],
    [2_000, 1_000],
  ])('with a cache of %d ms are asked again %d ms after a negative answer', async (cacheMs, negativeMs) => {
    const room = open({ cacheMs });
    room.answer = async () => says(null);
    expect(await room.judge()).toBe('invalid inactive');
    await room.pass(negativeMs - 1);
    expect(await room.judge()).toBe('invalid inactive');
    expect(room.questions).toHaveLength(1);
    room.answer = async () => says(MEMBERS);
    await room.pass(1);
    expect(await room.judge()).toBe('user web ada');
  });

  it('without an answer are neither a refusal nor remembered as one', async () => {
    const room = open();
    room.answer = async () => away(true);
    expect(await room.judge()).toBe('unanswered 503');
    room.full = true;
    expect(await room.judge()).toBe('unanswered 503');
    room.full = false;
    room.answer = async () => says(MEMBERS);
    expect(await room.judge()).toBe('user web ada');
    // An old answer does not stand in for one that the provider cannot give.
    room.answer = async () => away(true);
    await room.pass(30_000);
    expect(await room.judge()).toBe('unanswered 503');
    expect(room.recorder.count('tokenRefused')).toBe(0);
  });

  it('name the caller in the log once its token is no longer active', async () => {
    const room = open();
    await room.judge();
    room.answer = async () => says(null);
    await room.pass(30_000);
    expect(await room.verifier.verify(TOKEN, ADDRESS, ANY)).toMatchObject({
      ...{ reason: 'inactive', principal: 'user:web ada' },
    });
  });
});

describe('the budget of failed verifications', () => {
  it('bounds how many random tokens of an address reach the provider', async () => {
    const room = open({ limit: 5 });
    room.answer = async () => says(null);
    const words = await Promise.all(Array.from({ length: 50 }, (_, i) => room.judge(`random-${i}`)));
    // Five, and ten in the second after the budget was spent.
    expect(words.filter(word => word === 'invalid inactive')).toHaveLength(15);
    expect(words.filter(word => word === 'spent 60000')).toHaveLength(35);
    expect(room.questions).toHaveLength(15);
    expect(await room.judge('another', '198.51.100.1')).toBe('invalid inactive');
  });

  it('is drawn on while the question is asked, and gets an active answer back', async () => {
    const room = open({ limit: 5 });
    const words = await Promise.all(Array.from({ length: 5 }, (_, i) => room.judge(`honest-${i}`)));
    expect(words).toEqual(Array(5).fill('user web ada'));
    for (let i = 5; i < 30; i += 1) expect(await room.judge(`honest-${i}`)).toBe('user web ada');
    room.answer = async () => says(null);
    for (let i = 0; i < 5; i += 1) await room.judge(`random-${i}`);
    expect(room.budget.waitMs(ADDRESS)).toBe(0);
    for (let i = 5; i < 20; i += 1) await room.judge(`random-${i}`);
    expect(await room.judge('one-more')).toMatch(/^spent/);
    expect(room.recorder.count('budgetSpent')).toBeGreaterThan(0);
    // Tokens that were active keep passing, also where they have to be asked about again.
    await room.pass(30_000);
    room.answer = async () => says(MEMBERS);
    const later = room.questions.length;
    for (let i = 0; i < 20; i += 1) expect(await room.judge(`honest-${i}`)).toBe('user web ada');
    expect(room.questions).toHaveLength(later + 20);
  });

  it('keeps what an unanswered question drew, unless nothing reached the provider', async () => {
    const room = open({ limit: 5 });
    room.answer = async () => away(false);
    for (let i = 0; i < 20; i += 1) expect(await room.judge(`t${i}`)).toBe('unanswered 503');
    room.answer = async () => away(true);
    const words: string[] = [];
    for (let i = 0; i < 20; i += 1) words.push(await room.judge(`u${i}`));
    expect(words.filter(word => word === 'unanswered 503')).toHaveLength(15);
  });

  it('takes nothing back into another window', async () => {
    const room = open({ limit: 2 });
    let tell: (told: TokenReply) => void = () => {};
    room.answer = () =>
      new Promise(resolve => {
        tell = resolve;
      });
    const slow = room.judge('slow');
    await room.pass(60_000);
    room.answer = async () => says(null);
    await room.judge('a');
    tell(says(MEMBERS));
    expect(await slow).toBe('user web ada');
    await room.judge('b');
    for (let i = 0; i < 10; i += 1) expect(room.budget.waitMs(ADDRESS)).toBe(0);
    expect(room.budget.waitMs(ADDRESS)).toBeGreaterThan(0);
  });
});

describe('a revocation', () => {
  it('reaches opaque tokens: of a session, of a subject, and by a mark for everyone', async () => {
    const room = open();
    room.answer = async () => says({ ...MEMBERS, sid: 's1' });
    const caller = await room.caller();
    expect(room.verifier.endOf(caller, TOKEN)).toBeNull();
    room.revocations.endSession(revocableOf({ claims: { sid: 's1' }, signingInput: '' }).session);
    expect(room.verifier.endOf(caller, TOKEN)).toBe('signed_out');
    expect(await room.judge()).toBe('invalid signed_out');
    expect(await room.judge('another-of-the-session')).toBe('invalid signed_out');

    const second = open();
    const other = await second.caller();
    second.revocations.use({ notBeforeS: START_S + 1, leewayS: 30, maxLifetimeS: null });
    expect(second.verifier.endOf(other, TOKEN)).toBe('not_before');
    expect(await second.judge()).toBe('invalid not_before');
  });

  it('names a token alike at every gateway, also after a restart', async () => {
    const [here, there] = [await open().caller(), await open().caller()];
    expect([there.session, there.subject]).toEqual([here.session, here.subject]);
    expect((await open().caller('another')).session).not.toBe(here.session);
  });

  it('of a token without iat or sid ends it for good at sign-out', async () => {
    const room = open();
    const { iat: __, ...timeless } = MEMBERS;
    room.answer = async () => says(timeless);
    const { session, issuedAtS } = await room.caller();
    room.revocations.endSession(session, issuedAtS, null);
    expect(await room.judge()).toBe('invalid signed_out');
    await room.pass(60_000);
    expect(await room.judge()).toBe('invalid signed_out');
    // Another token of the subject is not concerned.
    expect(await room.judge('another')).toBe('user web ada');
  });

  it('by a logout of the subject has the provider asked again about a token without iat', async () => {
    const room = open();
    const { iat: __, ...timeless } = MEMBERS;
    room.answer = async () => says(timeless);
    await room.judge();
    room.revocations.endUnnamedSessions('ada', START_S);
    expect(await room.judge()).toBe('invalid signed_out');
    await room.pass(3_000);
    room.answer = async () => says(null);
    expect(await room.judge()).toBe('invalid inactive');
    room.answer = async () => says(timeless);
    expect(await room.judge('signed-in-again')).toBe('user web ada');
  });
});

describe('a stream', () => {
  it('of a token ends once the provider calls it inactive, which is asked about again while the stream lasts', async () => {
    const room = open({ cacheMs: 10_000 });
    const caller = await room.caller();
    await room.pass(9_999);
    expect(room.verifier.endOf(caller, TOKEN)).toBeNull();
    expect(room.questions).toHaveLength(1);
    await room.pass(1);
    for (let i = 0; i < 3; i += 1) expect(room.verifier.endOf(caller, TOKEN)).toBeNull();
    await room.pass(0);
    // For no client's address, so that it draws on no budget.
    expect(room.questions).toEqual([
      [TOKEN, ADDRESS],
      [TOKEN, null],
    ]);
    await room.pass(5_000);
    expect(room.verifier.endOf(caller, TOKEN)).toBeNull();
    expect(room.questions).toHaveLength(2);
    await room.pass(5_000);
    room.answer = async () => says(null);
    expect(room.verifier.endOf(caller, TOKEN)).toBeNull();
    await room.pass(60_000);
    expect(room.verifier.endOf(caller, TOKEN)).toBe('inactive');
  });

  it('goes on while the provider is away, until the exp of its token', async () => {
    const room = open({ cacheMs: 10_000 });
    const caller = await room.caller();
    room.answer = async () => away(true);
    await room.pass(329_999);
    expect(room.verifier.endOf(caller, TOKEN)).toBeNull();
    await room.pass(1);
    expect(room.verifier.endOf(caller, TOKEN)).toBe('expired');
  });

  it('learns of a negative answer that a request got', async () => {
    const room = open({ cacheMs: 10_000 });
    const caller = await room.caller();
    await room.pass(10_000);
    room.answer = async () => says(null);
    await room.judge();
    expect(room.verifier.endOf(caller, TOKEN)).toBeNull();
    expect(room.verifier.endOf(caller, TOKEN)).toBe('inactive');
  });
});

it('previews a token that sign-in hands out, on nobody’s budget and without counting it as refused', async () => {
  const room = open({ access: { audience: ['other'] } });
  expect(await room.verifier.preview(TOKEN)).toMatchObject({ reason: 'audience' });
  expect(room.questions).toEqual([[TOKEN, null]]);
  room.answer = async () => away(true);
  expect(inWords(await room.verifier.preview('second'))).toBe('unanswered 503');
  const good = open();
  expect(inWords(await good.verifier.preview(TOKEN))).toBe('user web ada');
  const strict = open({ access: { dpop: 'required' } });
  expect(await strict.verifier.preview(TOKEN)).toMatchObject({ reason: 'unbound' });
  strict.answer = async () => says({ ...MEMBERS, cnf: { jkt: 'k'.repeat(43) } });
  expect(inWords(await strict.verifier.preview('second'))).toBe('user web ada');
  expect(good.recorder.count('tokenRefused') + room.recorder.count('tokenRefused')).toBe(0);
});
