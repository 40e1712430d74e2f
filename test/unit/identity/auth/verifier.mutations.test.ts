import fc from 'fast-check';
import { importJWK, jwtVerify, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { played, runs } from '../../../support/runs.ts';
import { type IssuerKey, issuerKey, signParts, signToken } from '../../../support/token-issuer.ts';
import {
  ADDRESS,
  claims,
  freezeTime,
  inWords,
  openRoom,
  options,
  type Room,
  rsa,
  ScriptedIssuer,
} from './fixture.ts';

/** One key for each kind of signature. */
const keys: readonly IssuerKey[] = [
  rsa,
  issuerKey('PS256', 'ps'),
  issuerKey('ES256', 'es'),
  issuerKey('ES384', 'es3'),
  issuerKey('ES512', 'es5'),
  issuerKey('EdDSA', 'ed'),
];
const anyKey = fc.constantFrom(...keys);

let room: Room;

beforeAll(async () => {
  freezeTime();
  room = await openRoom(new ScriptedIssuer(...keys), { budget: null });
  await vi.advanceTimersByTimeAsync(1_000);
});

afterAll(() => {
  room.keys.close();
  vi.useRealTimers();
});

/** Whether the token became a caller. */
async function accepted(token: string): Promise<boolean> {
  const verdict = await room.verifier.verify(token, ADDRESS);
  return verdict.kind === 'user' || verdict.kind === 'bot';
}

/** Whether jose, told the same rules, accepts it too; a token that names no key may have been signed by `unnamed`. */
async function acceptedByJose(token: string, unnamed: IssuerKey): Promise<boolean> {
  const find = async (header: { kid?: string | undefined }) => {
    const key = header.kid === undefined ? unnamed : keys.find(known => known.kid === header.kid);
    if (key === undefined) throw new Error('unknown key');
    return importJWK(key.jwk, key.alg);
  };
  const rules = {
    issuer: options.issuer,
    audience: ['api'],
    algorithms: keys.map(key => key.alg),
    clockTolerance: 30,
    currentDate: new Date(Date.now()),
    requiredClaims: ['exp', 'iat'],
  };
  return jwtVerify(token, find, rules).then(
    () => true,
    () => false,
  );
}

describe('a token', () => {
  it.each(keys)('that jose signs with $alg is accepted', async key => {
    const header = { alg: key.alg, kid: key.kid ?? '', typ: 'at+jwt' };
    expect(await accepted(await new SignJWT(claims).setProtectedHeader(header).sign(key.privateKey))).toBe(
      true,
    );
  });

  it('is refused when any character of it is replaced', async () => {
    const tokens = new Map(keys.map(key => [key, signToken(key, claims)]));
    for (const token of tokens.values()) expect(await accepted(token)).toBe(true);
    await fc.assert(
      fc.asyncProperty(
        anyKey,
        fc.nat(),
        fc.integer({ min: 0x00, max: 0xff }),
        async (key, position, code) => {
          const token = tokens.get(key) ?? '';
          const at = position % token.length;
          const mutated = token.slice(0, at) + String.fromCharCode(code) + token.slice(at + 1);
          fc.pre(mutated !== token);
          expect(await accepted(mutated)).toBe(false);
        },
      ),
      played(2_000),
    );
  });

  it('is refused when any bit of its signature is flipped', async () => {
    await fc.assert(
      fc.asyncProperty(anyKey, fc.nat(), async (key, position) => {
        const token = signToken(key, claims);
        const dot = token.lastIndexOf('.');
        const signature = Buffer.from(token.slice(dot + 1), 'base64url');
        const bit = position % (signature.length * 8);
        signature[bit >> 3] = (signature[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(await accepted(`${token.slice(0, dot)}.${signature.toString('base64url')}`)).toBe(false);
      }),
    );
  });

  it('is refused when its signature is cut, lengthened, empty or of zeros', async () => {
    for (const key of keys) {
      const token = signToken(key, claims);
      const dot = token.lastIndexOf('.');
      const signature = Buffer.from(token.slice(dot + 1), 'base64url');
      const zero = Buffer.alloc(signature.length);
      for (const other of [
        signature.subarray(1),
        signature.subarray(0, -1),
        Buffer.concat([signature, zero]),
        zero,
      ]) {
        expect(await accepted(`${token.slice(0, dot)}.${other.toString('base64url')}`)).toBe(false);
      }
      expect(await accepted(token.slice(0, dot + 1))).toBe(false);
    }
  });

  it('is refused when parts of two tokens are put together', async () => {
    const tokens = keys.flatMap(key =>
      ['ada', 'bob'].map(sub => signToken(key, { ...claims, sub }).split('.')),
    );
    for (const one of tokens) {
      for (const other of tokens) {
        if (one === other) continue;
        expect(await accepted([one[0], one[1], other[2]].join('.'))).toBe(false);
        if (one[1] !== other[1]) expect(await accepted([one[0], other[1], one[2]].join('.'))).toBe(false);
      }
    }
  });

  it('with odd header and claims is never accepted where jose refuses it', async () => {
    const odd = fc.oneof(
      fc.constant(undefined),
      fc.jsonValue(),
      fc.constantFrom('api', 'JWT', 'Bearer', 'RS256', 'rsa-1'),
    );
    const headerNames = fc.constantFrom('alg', 'kid', 'typ', 'crit', 'jwk', 'b64', 'zip', '__proto__');
    const claimNames = fc.constantFrom('iss', 'aud', 'exp', 'iat', 'nbf', 'sub', 'azp', 'typ', '__proto__');
    let valid = 0;
    await fc.assert(
      fc.asyncProperty(
        anyKey,
        fc.dictionary(headerNames, odd, { maxKeys: 1 }),
        fc.dictionary(claimNames, odd, { maxKeys: 2 }),
        async (key, header, changed) => {
          const token = signParts(
            key,
            JSON.stringify({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header }),
            JSON.stringify({ ...claims, ...changed }),
          );
          if (!(await accepted(token))) return;
          valid += 1;
          expect(await acceptedByJose(token, key)).toBe(true);
        },
      ),
      played(1_000),
    );
    // A generator that makes only refused tokens would prove nothing.
    expect(valid).toBeGreaterThan(0.02 * runs(1_000));
  });

  it('never makes the verifier throw, whatever it is', async () => {
    const segment = fc.oneof(
      fc.string(),
      fc.json().map(text => Buffer.from(text).toString('base64url')),
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(segment, { maxLength: 4 }).map(s => s.join('.')),
    );
    await fc.assert(
      fc.asyncProperty(text, async token => {
        expect(inWords(await room.verifier.verify(token, ADDRESS))).toMatch(/^invalid /);
      }),
    );
  });
});
