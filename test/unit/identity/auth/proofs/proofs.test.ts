import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { thumbprintOf } from '../../../../../src/identity/auth/proofs/proof-keys.ts';
import { clientKey } from '../../../../support/proofs.ts';
import { base64Url, signParts } from '../../../../support/token-issuer.ts';
import { ADA, BOB, HASH, NOW_S, proof, proofsRoom, URL, wordOf } from './proofs-room.ts';

const header = (more: object = {}) =>
  JSON.stringify({ alg: 'ES256', typ: 'dpop+jwt', jwk: ADA.jwk, ...more });
/** Of an RSA key of so many bits: an odd number. */
const modulusOf = (bits: number) =>
  base64Url(Buffer.alloc(Math.ceil(bits / 8), 0xff).fill(0xff >> ((8 - (bits % 8)) % 8), 0, 1));
const payload = JSON.stringify({ jti: 'a', htm: 'GET', htu: URL, ath: HASH, iat: NOW_S });

describe('a proof', () => {
  it('is good for its request, with a key of each kind', () => {
    const { judge, events } = proofsRoom();
    for (const alg of ['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'] as const) {
      const client = clientKey(alg);
      expect(judge(proof({}, {}, client), { key: client.thumbprint }), alg).toBe('proved');
    }
    expect(events).toEqual(Array(5).fill('accepted'));
  });

  it.each([
    ['empty, as where two were sent', '', 'proof_malformed'],
    ['no JWT', 'proof', 'proof_malformed'],
    ['two in one field', `${proof()}, ${proof()}`, 'proof_malformed'],
    ['base64 with padding', `${proof()}=`, 'proof_malformed'],
    ['base64 of the other alphabet', proof().replace(/^./, '+'), 'proof_malformed'],
    ['a header that is no object', signParts(ADA.key, '[]', payload), 'proof_malformed'],
    ['claims that are no object', signParts(ADA.key, header(), '7'), 'proof_malformed'],
    ['of another type', proof({}, { typ: 'JWT' }), 'proof_malformed'],
    ['of no type', proof({}, { typ: undefined }), 'proof_malformed'],
    ['with a critical extension', proof({}, { crit: ['b64'] }), 'proof_malformed'],
    ['without a key', proof({}, { jwk: undefined }), 'proof_malformed'],
    ['with a key that is no object', proof({}, { jwk: [ADA.jwk] }), 'proof_malformed'],
    ['longer than any', proof({ jti: 'a', more: 'x'.repeat(4_096) }), 'proof_malformed'],
    ['without jti', proof({ jti: undefined }), 'proof_malformed'],
    ['with a jti that is no text', proof({ jti: 7 }), 'proof_malformed'],
    ['with an empty jti', proof({ jti: '' }), 'proof_malformed'],
    ['with a jti of 257 characters', proof({ jti: 'x'.repeat(257) }), 'proof_malformed'],
    ['without iat', proof({ iat: undefined }), 'proof_malformed'],
    ['with an iat that is no number', proof({ iat: `${NOW_S}` }), 'proof_malformed'],
    ['without htu', proof({ htu: undefined }), 'proof_malformed'],
    ['with alg none', `${base64Url(header({ alg: 'none' }))}.${base64Url(payload)}.AA`, 'proof_algorithm'],
    ['with HS256', proof({}, { alg: 'HS256', jwk: { kty: 'oct' } }), 'proof_algorithm'],
    ['with an algorithm of another curve', proof({}, { alg: 'ES384' }), 'proof_algorithm'],
    ['with an algorithm of another type', proof({}, { alg: 'RS256' }), 'proof_algorithm'],
    ['by another key', proof({}, {}, BOB), 'proof_key'],
    ['by another key, with this one in the header', proof({}, { jwk: ADA.jwk }, BOB), 'proof_signature'],
    ['changed after it was signed', swapPayload(proof(), proof({ jti: 'b' })), 'proof_signature'],
    ['for another method', proof({ htm: 'POST' }), 'proof_target'],
    ['for the method in other letters', proof({ htm: 'get' }), 'proof_target'],
    ['for no method', proof({ htm: undefined }), 'proof_target'],
    ['for another token', proof({ ath: HASH.replace(/^./, '_') }), 'proof_token'],
    ['for no token', proof({ ath: undefined }), 'proof_token'],
  ])('is refused if it is %s', (_, text, reason) => {
    expect(proofsRoom().judge(text)).toBe(reason);
  });

  it('is refused with ES512, which is none of its algorithms', () => {
    const client = clientKey('ES512');
    expect(proofsRoom().judge(proof({}, {}, client), { key: client.thumbprint })).toBe('proof_algorithm');
  });

  it('is refused with a private key inside, or a symmetric one', () => {
    const { judge } = proofsRoom();
    const whole = ADA.key.privateKey.export({ format: 'jwk' });
    expect(judge(proof({}, { jwk: whole }))).toBe('proof_malformed');
    for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])
      expect(judge(proof({}, { jwk: { ...ADA.jwk, [name]: '' } })), name).toBe('proof_malformed');
  });

  it('is refused where its key is weak, or costs more than others', () => {
    const { judge, dependencies } = proofsRoom();
    const { publicKey, privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      publicExponent: 2 ** 31 - 1,
    });
    const good = publicKey.export({ format: 'jwk' });
    // To find primes of thousands of bits takes long, and a key is judged before its signature.
    const cases = [
      ...[1_024, 2_047, 4_104].map(bits => [{ ...good, n: modulusOf(bits) }, 'proof_key'] as const),
      [{ ...good }, 'proved'] as const,
    ];
    for (const [jwk, reason] of cases) {
      const thumbprint = thumbprintOf(jwk) ?? '';
      const client = {
        key: { kid: null, alg: 'RS256', privateKey, jwk },
        jwk,
        thumbprint,
        cnf: { jkt: thumbprint },
      } as const;
      expect(judge(proof({}, {}, client), { key: thumbprint, isKnown: true }), jwk.n).toBe(reason);
    }
    // An Ed25519 point of small order accepts a signature over every message.
    const small = { kty: 'OKP', crv: 'Ed25519', x: base64Url(Buffer.alloc(32).fill(1, 0, 1)) };
    const forged = signParts(ADA.key, header({ alg: 'EdDSA', jwk: small }), payload);
    expect(judge(forged, { key: thumbprintOf(small), isKnown: true })).toBe('proof_key');
    // A point off the curve is no key.
    const off = { ...ADA.jwk, y: ADA.jwk['x'] };
    expect(judge(proof({}, { jwk: off }), { key: thumbprintOf(off), isKnown: true })).toBe('proof_key');
    expect(dependencies.keys.size).toBe(cases.length + 2);
  });

  it('imports no key but that of the token', () => {
    const { judge, dependencies } = proofsRoom();
    judge(proof({}, {}, BOB));
    judge(proof({ ath: 'x' }));
    expect(dependencies.keys.size).toBe(0);
    judge(proof());
    expect(dependencies.keys.size).toBe(1);
  });

  it('is refused with a signature that is none for the curve', () => {
    const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551';
    const signed = signParts(ADA.key, header(), payload);
    const [input, signature] = [
      signed.slice(0, signed.lastIndexOf('.')),
      signed.slice(signed.lastIndexOf('.') + 1),
    ];
    const good = Buffer.from(signature, 'base64url').toString('hex');
    const [r, s] = [good.slice(0, 64), good.slice(64)];
    const plusOrder = (BigInt(`0x${s}`) + BigInt(`0x${order}`)).toString(16);
    const zero = '0'.repeat(64);
    const forged = [zero + zero, zero + s, r + zero, order + s, r + order, r + zero.replace(/.$/, '1')];
    forged.push(
      `${r}${plusOrder.slice(-64)}`,
      good.slice(0, -2),
      `${good}00`,
      `00${r}00${s}`,
      '30060201010201 01'.replace(' ', ''),
    );
    for (const hex of forged)
      expect(proofsRoom().judge(`${input}.${base64Url(Buffer.from(hex, 'hex'))}`), hex).toBe(
        'proof_signature',
      );
    expect(proofsRoom().judge(signed)).toBe('proved');
  });

  it('of EdDSA is refused with a scalar that is not reduced', () => {
    const client = clientKey('EdDSA');
    const text = proof({}, {}, client);
    const at = text.lastIndexOf('.');
    const signature = Buffer.from(text.slice(at + 1), 'base64url');
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + order;
    const other = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
    const forged = `${text.slice(0, at)}.${base64Url(Buffer.concat([signature.subarray(0, 32), other]))}`;
    expect(proofsRoom().judge(forged, { key: client.thumbprint })).toBe('proof_signature');
  });
});

describe('the URL of a proof', () => {
  it.each([
    ...['https://api.example.com/orders/7', 'HTTPS://API.example.com:443/orders/7'],
    'https://api.example.com/orders/7?page=2',
    ...['https://api.example.com/orders/7#top', 'https://api.example.com/orde%72s/7'],
  ])('may be %s', htu => {
    expect(proofsRoom().judge(proof({ htu }))).toBe('proved');
  });

  it.each([
    ...['https://api.example.com', 'https://api.example.com/orders/8'],
    ...['https://api.example.com/Orders/7', 'https://api.example.com/orders/7/'],
    ...['https://api.example.com/x/../orders/7', 'https://api.example.com//orders/7'],
    ...['https://api.example.com/orders%2f7', 'http://api.example.com/orders/7'],
    ...['wss://api.example.com/orders/7', 'https://api.example.com:8443/orders/7'],
    ...['https://api.example.com:80/orders/7', 'https://evil.example.com/orders/7'],
    ...['https://api.example.com@evil.example.com/orders/7', 'https://user@api.example.com/orders/7'],
    ...['https://api.example.com.evil.example/orders/7', 'https:///orders/7', '/orders/7'],
    ...[' https://api.example.com/orders/7', 'https://api.example.com/orders/7\n', ''],
  ])('may not be %j', htu => {
    expect(proofsRoom().judge(proof({ htu }))).toBe('proof_target');
  });

  it('is compared with the host and port that the client knows, of IPv6 as well', () => {
    const { judge } = proofsRoom();
    const at = (htu: string, host: string, scheme: 'http' | 'https' = 'http') =>
      judge(proof({ htu }), { host, scheme, isKnown: true });
    expect(at('http://[2001:DB8::1]:8080/orders/7', '[2001:db8:0::1]:8080')).toBe('proved');
    expect(at('http://127.0.0.1/orders/7', '127.0.0.1:80')).toBe('proved');
    expect(at('http://127.0.0.1/orders/7', '127.0.0.1:8080')).toBe('proof_target');
    expect(at('http://api/orders/7', 'api', 'https')).toBe('proof_target');
  });
});

describe('the time of a proof', () => {
  it.each([
    [-30, 'proved'],
    [-31, 'proof_time'],
    [-3_600, 'proof_time'],
    [30, 'proved'],
    [31, 'proof_time'],
    [1e300, 'proof_time'],
  ])('may be within the leeway of now: %d s', (seconds, verdict) => {
    expect(proofsRoom().judge(proof({ iat: NOW_S + seconds }))).toBe(verdict);
  });
});

describe('a token', () => {
  it('that is bound to no key needs no proof, unless all have to be bound', () => {
    const open = proofsRoom();
    expect(open.judge(null, { key: null, underDpop: false })).toBe('proved');
    // Nobody looks at the proof of a token that needs none.
    expect(open.judge('nonsense', { key: null, underDpop: false })).toBe('proved');
    expect(open.judge(proof(), { key: null })).toBe('unbound');
    const strict = proofsRoom({ required: true });
    expect(strict.judge(null, { key: null, underDpop: false })).toBe('unbound');
    expect(strict.judge(proof())).toBe('proved');
  });

  it('that is bound to a key comes under DPoP, with a proof', () => {
    const { judge } = proofsRoom();
    expect(judge(proof(), { underDpop: false })).toBe('proof_scheme');
    expect(judge(null)).toBe('proof_missing');
  });
});

describe('the budget of an address', () => {
  it('pays for bad proofs, and not for missing ones or a nonce', () => {
    const { judge, dependencies } = proofsRoom({ nonceMs: 60_000 });
    const { budget } = dependencies;
    for (let n = 0; n < 5; n++) {
      expect(judge(null)).toBe('proof_missing');
      expect(judge(proof())).toBe('proof_nonce');
      expect(judge(proof(), { underDpop: false })).toBe('proof_scheme');
    }
    expect(budget?.waitMs('192.0.2.1')).toBe(0);
    for (let n = 0; n < 3; n++) expect(judge(proof({ htm: 'PUT' }))).toBe('proof_target');
    for (let n = 0; n < 20; n++) budget?.waitMs('192.0.2.1');
    expect(budget?.waitMs('192.0.2.1')).toBeGreaterThan(0);
    expect(budget?.waitMs('192.0.2.2')).toBe(0);
  });

  it('puts off signatures once it is spent, but not those of a connection whose last proof was good', () => {
    const { judge, events } = proofsRoom();
    for (let n = 0; n < 3; n++) judge(proof({}, { jwk: ADA.jwk }, BOB));
    const words = Array.from({ length: 12 }, () => judge(proof()));
    expect(words.at(-1)).toBe('spent');
    expect(words.filter(word => word === 'proved').length).toBeLessThan(12);
    expect(events).toContain('spent');
    expect(judge(proof(), { isKnown: true })).toBe('proved');
    expect(judge(proof(), { address: '192.0.2.2' })).toBe('proved');
  });
});

describe('a proof that was used', () => {
  it('is not good again, as long as its time would allow it', () => {
    const { judge, clock } = proofsRoom();
    const early = proof({ iat: NOW_S + 30 });
    expect(judge(early)).toBe('proved');
    for (const ms of [0, 30_000, 60_000]) {
      clock.ms = ms;
      expect(judge(early)).toBe('proof_replayed');
    }
    clock.ms = 60_001;
    expect(judge(early)).toBe('proof_time');
  });

  it('is another with another jti, and another key may have the same jti', () => {
    const { judge } = proofsRoom();
    expect(judge(proof({ jti: 'a' }))).toBe('proved');
    expect(judge(proof({ jti: 'b' }))).toBe('proved');
    expect(judge(proof({ jti: 'a' }, {}, BOB), { key: BOB.thumbprint })).toBe('proved');
    // Signed once more, it is the same proof.
    expect(judge(proof({ jti: 'a' }))).toBe('proof_replayed');
  });

  it('is only remembered if it was good', () => {
    const { judge } = proofsRoom();
    const text = proof({ jti: 'a' });
    expect(judge(swapPayload(text, proof({ jti: 'b' })))).toBe('proof_signature');
    expect(judge(text, { method: 'PUT' })).toBe('proof_target');
    expect(judge(text)).toBe('proved');
  });

  it('is asked about elsewhere, once it is good here', async () => {
    const asked: [string, number][] = [];
    const answers: (boolean | 'unknown')[] = [true, false, 'unknown'];
    const { check, judge } = proofsRoom(
      {},
      {
        claimElsewhere: async (name, forMs) => {
          asked.push([name, forMs]);
          return answers.shift() ?? true;
        },
      },
    );
    expect(judge(proof({ htm: 'PUT' }))).toBe('proof_target');
    expect(asked).toEqual([]);
    const text = proof({ jti: 'a' });
    expect(wordOf(await check(text))).toBe('proved');
    expect(wordOf(await check(proof()))).toBe('proof_replayed');
    expect(await check(proof())).toEqual({ kind: 'unavailable', retryAfterMs: 1_000 });
    expect(judge(text)).toBe('proof_replayed');
    expect(asked).toHaveLength(3);
    expect(asked.map(([, forMs]) => forMs)).toEqual([60_000, 60_000, 60_000]);
    expect(asked[0]?.[0]).not.toContain(ADA.thumbprint);
  });
});

describe('a nonce', () => {
  const nonceIn = (verdict: ReturnType<ReturnType<typeof proofsRoom>['check']>) =>
    'nonce' in verdict ? verdict.nonce : null;

  it('is demanded of every proof, and handed out with every refusal', () => {
    const { check, judge } = proofsRoom({ nonceMs: 60_000 });
    const refused = check(proof());
    expect(refused).toMatchObject({ kind: 'refused', reason: 'proof_nonce' });
    const nonce = nonceIn(refused);
    expect(nonce).toMatch(/^[\w-]{24}$/);
    expect(check(proof({ nonce }))).toEqual({ kind: 'proved', nonce: null });
    expect(nonceIn(check(proof({ htm: 'PUT', nonce })))).toBe(nonce);
    for (const wrong of [7, null, '', 'x', `${nonce}x`, nonce?.replace(/.$/, '_'), nonce?.replace(/^./, '_')])
      expect(judge(proof({ nonce: wrong })), `${wrong}`).toBe('proof_nonce');
  });

  it('ages: a new one comes with a good proof before the old one ends', () => {
    const { check, clock } = proofsRoom({ nonceMs: 60_000 });
    const first = nonceIn(check(proof()));
    clock.ms = 31_000;
    const later = { iat: NOW_S + 31 };
    const verdict = check(proof({ nonce: first, ...later }));
    expect(verdict).toMatchObject({ kind: 'proved', nonce: expect.not.stringMatching(first ?? '') });
    clock.ms = 60_001;
    expect(check(proof({ nonce: first, iat: NOW_S + 60 }))).toMatchObject({ reason: 'proof_nonce' });
    expect(check(proof({ nonce: nonceIn(verdict), iat: NOW_S + 60 }))).toMatchObject({ kind: 'proved' });
  });

  it('means nothing where none is demanded', () => {
    const { check } = proofsRoom();
    expect(check(proof({ nonce: 7 }))).toEqual({ kind: 'proved', nonce: null });
    expect(check(null)).toMatchObject({ nonce: null });
  });
});

/** A proof with the claims of another. */
function swapPayload(one: string, other: string): string {
  const [head, , signature] = one.split('.');
  return [head, other.split('.')[1], signature].join('.');
}
