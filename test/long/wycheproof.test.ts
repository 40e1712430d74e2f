import { execFileSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { isAlgorithm, type SigningAlgorithm } from '../../src/identity/auth/token/algorithms.ts';
import {
  isSignature,
  parseJwt,
  readKeySet,
  type VerificationKey,
} from '../../src/identity/auth/token/index.ts';
import { ensureInstalled } from '../support/installed.ts';

// Project Wycheproof: signatures and keys on which libraries went wrong before. The module is that which the tests of Go's own
// cryptography fetch.
const MODULE = 'github.com/C2SP/wycheproof@v0.0.0-20250901140545-b51abcfb8daf';

interface Group {
  readonly comment?: string;
  readonly publicKeyDer?: string;
  readonly private?: object;
  readonly public?: object;
  readonly tests: readonly Case[];
}

interface Case {
  readonly tcId: number;
  readonly comment: string;
  readonly result: 'valid' | 'invalid' | 'acceptable';
  readonly flags: readonly string[];
  readonly msg: string;
  readonly sig: string;
  readonly jws?: string | object;
}

let folder = '';
beforeAll(() => {
  ensureInstalled({ command: 'go', versionArgs: ['version'], packages: ['golang-go'] });
  const said = execFileSync('go', ['mod', 'download', '-json', MODULE], { cwd: tmpdir() });
  folder = join(JSON.parse(said.toString()).Dir, 'testvectors_v1');
});

function groupsOf(name: string): readonly Group[] {
  return JSON.parse(readFileSync(join(folder, `${name}_test.json`), 'utf8')).testGroups;
}

/** The keys that a key set with these members has for the gateway; none if it refuses all of them. */
function keysOf(...keys: readonly object[]): readonly VerificationKey[] {
  try {
    return readKeySet(Buffer.from(JSON.stringify({ keys })), 10, []).keys;
  } catch {
    return [];
  }
}

const hex = (text: string) => Buffer.from(text, 'hex');

test.each<[file: string, SigningAlgorithm, least: number]>([
  ['rsa_signature_2048_sha256', 'RS256', 250],
  ['rsa_signature_2048_sha384', 'RS384', 250],
  ['rsa_signature_2048_sha512', 'RS512', 250],
  ['rsa_pss_2048_sha256_mgf1_32', 'PS256', 100],
  ['rsa_pss_2048_sha384_mgf1_48', 'PS384', 50],
  ['rsa_pss_4096_sha512_mgf1_64', 'PS512', 50],
  ['ecdsa_secp256r1_sha256_p1363', 'ES256', 250],
  ['ecdsa_secp384r1_sha384_p1363', 'ES384', 250],
  ['ecdsa_secp521r1_sha512_p1363', 'ES512', 250],
  ['ed25519', 'Ed25519', 140],
  ['ed448', 'Ed448', 80],
])('signatures of %s are judged as %s', (file, algorithm, least) => {
  let judged = 0;
  for (const { publicKeyDer = '', tests } of groupsOf(file)) {
    const jwk = createPublicKey({ key: hex(publicKeyDer), format: 'der', type: 'spki' }).export({
      format: 'jwk',
    });
    const [key] = keysOf(jwk);
    for (const { tcId, comment, result, msg, sig } of tests) {
      const isGood =
        key?.algorithms.includes(algorithm) === true &&
        isSignature(algorithm, key.keyObject, hex(msg), hex(sig));
      // Such as RSA with an odd encoding, which nothing has to take.
      if (result === 'acceptable') expect([tcId, comment, isGood]).toEqual([tcId, comment, false]);
      else expect([tcId, comment, isGood]).toEqual([tcId, comment, result === 'valid']);
      judged += 1;
    }
  }
  expect(judged).toBeGreaterThan(least);
});

/** Whether the gateway would take the signature of a JWS with these keys. Its payload is a text, and no JSON object as in tokens. */
function isTaken(jws: string, keys: readonly VerificationKey[]): boolean {
  const [header = '', payload = '', ...rest] = jws.split('.');
  const jwt = parseJwt([header, payload === '' ? '' : 'e30', ...rest].join('.'));
  if (jwt.kind === 'invalid') return false;
  return keys.some(
    ({ id, algorithms, keyObject }) =>
      (jwt.keyId === null || jwt.keyId === id) &&
      algorithms.includes(jwt.algorithm) &&
      isSignature(jwt.algorithm, keyObject, Buffer.from(`${header}.${payload}`), jwt.signature),
  );
}

/** Whether this gateway has to take a valid one: it is no HMAC, its key is for no other algorithm, and it has a payload. */
function isOurs(jws: string, key: { readonly alg?: unknown }): boolean {
  const [header = '', payload = ''] = jws.split('.');
  const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString());
  return payload !== '' && isAlgorithm(alg) && (key.alg ?? alg) === alg;
}

test('of keys and signatures in JSON, those that are valid and asymmetric are taken, and nothing else', () => {
  let taken = 0;
  for (const file of ['json_web_signature', 'json_web_key', 'json_web_crypto'])
    for (const { comment, tests, ...group } of groupsOf(file)) {
      const material = group.public ?? group.private ?? {};
      const isSet = 'keys' in material && Array.isArray(material.keys);
      const keys = isSet ? keysOf(...(material.keys as object[])) : keysOf(material);
      for (const { tcId, result, jws, comment: about } of tests) {
        if (typeof jws !== 'string') continue;
        const isGood = isTaken(jws, keys);
        const expected = result === 'valid' && isOurs(jws, material);
        expect([file, tcId, comment, about, isGood]).toEqual([file, tcId, comment, about, expected]);
        if (isGood) taken += 1;
      }
    }
  expect(taken).toBeGreaterThan(20);
});
