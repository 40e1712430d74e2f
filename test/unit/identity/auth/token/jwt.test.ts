import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimAt, parseJwt } from '../../../../../src/identity/auth/token/jwt.ts';
import { played } from '../../../../support/runs.ts';
import { base64Url, signParts } from '../../../../support/token-issuer.ts';
import { claims, ecdsa, rsa } from '../fixture.ts';

const SIGNATURE = base64Url('signature');

function parts(header: string | Buffer, payload: string | Buffer = '{}', signature = SIGNATURE): string {
  return `${base64Url(header)}.${base64Url(payload)}.${signature}`;
}

/** The reason of the refusal, or `accepted`. */
function outcome(token: string): string {
  const jwt = parseJwt(token);
  return jwt.kind === 'invalid' ? jwt.reason : 'accepted';
}

describe('a compact JWS', () => {
  it('is split into the signed text and the signature', () => {
    const token = signParts(rsa, '{"alg":"RS256","kid":"rsa-1","typ":"JWT"}', '{"sub":"ada"}');
    expect(parseJwt(token)).toMatchObject({
      algorithm: 'RS256',
      keyId: 'rsa-1',
      type: 'JWT',
      claims: { sub: 'ada' },
      signingInput: token.slice(0, token.lastIndexOf('.')),
      signature: Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url'),
    });
  });

  it('need not name its key or its type', () => {
    expect(parseJwt(parts('{"alg":"ES256"}'))).toMatchObject({
      ...{ keyId: null, type: null, thumbprint: null },
    });
  });

  it('may name its key by the certificate, the longer thumbprint first', () => {
    const named = (members: string) => parseJwt(parts(`{"alg":"ES256",${members}}`));
    expect(named('"x5t":"a"')).toMatchObject({ thumbprint: 'a' });
    expect(named('"x5t":"a","x5t#S256":"b"')).toMatchObject({ thumbprint: 'b' });
    expect(named('"x5t":7')).toMatchObject({ thumbprint: null });
  });

  it('may have blanks in its JSON, duplicate members, of which the last counts, and unknown members', () => {
    expect(parseJwt(parts(' { "alg":"none", "alg":"ES256",\n"x":[1] } '))).toMatchObject({
      algorithm: 'ES256',
    });
  });

  it.each([
    ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
    ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'Ed448'],
  ])('may be signed with %s', alg => {
    expect(outcome(parts(JSON.stringify({ alg })))).toBe('accepted');
  });

  it.each([
    ...['none', 'None', 'NONE', 'nOnE', '', 'HS256', 'HS384', 'HS512'],
    ...['rs256', 'RS256 ', 'RS1', 'ES256K', 'RSA-OAEP', 'dir'],
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'],
  ])('is refused with the algorithm %j', alg => {
    expect(outcome(parts(JSON.stringify({ alg })))).toBe('algorithm');
  });

  it.each([
    ['{}'],
    ['{"alg":null}'],
    ['{"alg":["RS256"]}'],
    ['{"alg":{"toString":"RS256"}}'],
    ['{"__proto__":{"alg":"RS256"}}'],
    ['{"alg":"RS256","kid":7}'],
    ['{"alg":"RS256","kid":null}'],
    ['{"alg":"RS256","kid":""}'],
    ['{"alg":"RS256","kid":["rsa-1"]}'],
    ['{"alg":"RS256","typ":1}'],
    ['[]'],
    ['null'],
    ['"RS256"'],
    ['7'],
    ['{"alg":"RS256"'],
    ['{"alg":"RS256"}}'],
    ['{"alg":"RS256",}'],
    ["{'alg':'RS256'}"],
    ['\ufeff{"alg":"RS256"}'],
    [' '],
  ])('is refused as malformed with the header %j', header => {
    expect(outcome(parts(header))).toBe('malformed');
  });

  it.each(['[]', 'null', '"x"', '1', '', ' ', '{', '{}x', '\ufeff{}'])(
    'is refused with the payload %j',
    payload => {
      expect(outcome(parts('{"alg":"RS256"}', payload))).toBe('malformed');
    },
  );

  it('is refused when its JSON is not UTF-8', () => {
    const broken = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    expect(outcome(parts('{"alg":"RS256"}', broken))).toBe('malformed');
    expect(outcome(parts(Buffer.concat([broken, Buffer.from('"alg":"RS256"')])))).toBe('malformed');
  });

  it.each(['["exp"]', '[]', '{}', 'null', 'false'])('is refused when it has crit, even %s', crit => {
    expect(outcome(parts(`{"alg":"RS256","crit":${crit}}`))).toBe('critical');
  });

  it('is refused when its key id is longer than 256 characters', () => {
    expect(outcome(parts(JSON.stringify({ alg: 'RS256', kid: 'k'.repeat(256) })))).toBe('accepted');
    expect(outcome(parts(JSON.stringify({ alg: 'RS256', kid: 'k'.repeat(257) })))).toBe('malformed');
    expect(outcome(parts(JSON.stringify({ alg: 'RS256', kid: 'k'.repeat(10_000) })))).toBe('malformed');
  });

  it('may carry certificates and keys, which are ignored', () => {
    const header = {
      alg: 'RS256',
      jwk: rsa.jwk,
      jku: 'http://evil.example',
      x5u: 'http://evil.example',
      x5c: ['MII'],
    };
    expect(outcome(parts(JSON.stringify(header)))).toBe('accepted');
  });

  it('is refused when it is nested as deep as it is long', () => {
    expect(outcome(parts('{"alg":"RS256"}', `${'['.repeat(6_000)}${']'.repeat(6_000)}`))).toBe('malformed');
    expect(outcome(parts('{"alg":"RS256"}', '{"a":'.repeat(2_000)))).toBe('malformed');
  });

  const good = parts('{"alg":"ES256"}', '{"a":1}', SIGNATURE);
  const [header, payload] = good.split('.');
  it.each([
    ['nothing', ''],
    ['no dot', 'abc'],
    ['no dot, and two readings as base64url', `${base64Url('{"alg":"RS256" }')}A`],
    ['two segments', `${header}.${payload}`],
    ['four segments', `${good}.${SIGNATURE}`],
    ['five segments', `${good}.${SIGNATURE}.${SIGNATURE}`],
    ['a dot at the end', `${good}.`],
    ['a dot at the start', `.${good}`],
    ['an empty header', `.${payload}.${SIGNATURE}`],
    ['an empty payload', `${header}..${SIGNATURE}`],
    ['an empty signature', `${header}.${payload}.`],
    ['padding on the signature', `${good}=`],
    ['padding on the payload', `${header}.${payload}==.${SIGNATURE}`],
    ['the other base64 alphabet', `${header}.${payload}.ab+/`],
    ['a blank', `${header}. ${payload}.${SIGNATURE}`],
    ['a line end', `${good}\n`],
    ['a character above 0x7f', `${good}\u00e9`],
    ['a segment of impossible length', `${header}.${payload}.abcde`],
    ['stray bits at the end of a segment', `${header}.${payload}.ab`],
  ])('is refused as malformed when it has %s', (_, token) => {
    expect(outcome(token)).toBe('malformed');
  });

  it('has one spelling only: no other text reads as the same token', () => {
    const token = signParts(ecdsa, JSON.stringify({ alg: 'ES256', kid: 'ec-1' }), JSON.stringify(claims));
    const original = parseJwt(token);
    const position = fc.nat(token.length - 1);
    fc.assert(
      fc.property(position, fc.integer({ min: 0, max: 255 }), (at, code) => {
        const mutated = token.slice(0, at) + String.fromCharCode(code) + token.slice(at + 1);
        if (mutated !== token) expect(parseJwt(mutated)).not.toEqual(original);
      }),
      played(2_000),
    );
  });

  it('never makes the reader throw', () => {
    const segment = fc.oneof(fc.string(), fc.json().map(base64Url), fc.base64String());
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(segment, { maxLength: 5 }).map(s => s.join('.')),
    );
    fc.assert(
      fc.property(text, token => {
        expect(['jwt', 'invalid']).toContain(parseJwt(token).kind);
      }),
    );
  });
});

describe('a claim that a JSON Pointer names', () => {
  const name = fc.oneof(
    fc.string(),
    fc.constantFrom('', '/', '~', '~1', '0', '00', '-', 'length', '__proto__', 'constructor', 'toString'),
  );
  const escaped = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1');

  it('is the value at its end, whatever the names on the way contain', () => {
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 6 }), fc.jsonValue(), (path, value) => {
        const claims = path.reduceRight<unknown>(
          (inner, part) =>
            Object.fromEntries([
              [part, inner],
              [`${part} more`, 7],
            ]),
          value,
        );
        const found = claimAt(
          claims as Record<string, unknown>,
          path.map(part => `/${escaped(part)}`).join(''),
        );
        expect(found).toEqual(value);
      }),
      played(1_000),
    );
  });

  it('is never what a token does not have, and never makes the reader throw', () => {
    const pointer = fc
      .array(name.map(escaped), { minLength: 1, maxLength: 4 })
      .map(parts => `/${parts.join('/')}`);
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue()), fc.oneof(pointer, fc.string()), (claims, text) => {
        const parsed = JSON.parse(JSON.stringify(claims));
        const found = claimAt(parsed, text);
        // What it finds is somewhere in the JSON of the token.
        if (found !== undefined) expect(JSON.stringify(parsed)).toContain(JSON.stringify(found));
      }),
      played(1_000),
    );
  });
});
