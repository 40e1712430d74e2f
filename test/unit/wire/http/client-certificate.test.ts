import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { thumbprintIn } from '../../../../src/wire/http/index.ts';

const DER = Buffer.from('3082 a certificate of some length, with every byte \u00ff\u00fe', 'latin1');
const BASE64 = DER.toString('base64');
const HASH = createHash('sha256').update(DER).digest();
const PEM = `-----BEGIN CERTIFICATE-----\n${BASE64.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;
const ESCAPED = encodeURIComponent(PEM);
const OTHER = ESCAPED.replace(encodeURIComponent(BASE64.slice(0, 8)), 'MIIB');

describe('the thumbprint of a certificate', () => {
  it.each([
    ['RFC 9440', `:${BASE64}:`],
    ['nginx: $ssl_client_escaped_cert', ESCAPED],
    ['nginx, with what follows in a chain', ESCAPED + OTHER],
    ['AWS, which leaves some characters as they are', ESCAPED.replaceAll('%2B', '+').replaceAll('%3D', '=')],
    ['HAProxy: ssl_c_der,base64', BASE64],
    ['Traefik, with a chain', `${BASE64},TUlJQg==`],
    ['Envoy, hash alone', `Hash=${HASH.toString('hex')}`],
    [
      'Envoy, with everything',
      `By=spiffe://a;Hash=${HASH.toString('hex')};Cert="${ESCAPED}";Subject="CN=\\"a;b\\",O=c";URI=;DNS=a.b`,
    ],
  ])('is read from what proxies write: %s', (_, value) => {
    expect(thumbprintIn(value)).toBe(HASH.toString('base64url'));
  });

  it.each([
    ['nothing', ''],
    ['an unfinished item', `:${BASE64}`],
    ['an item without its beginning', `${BASE64}:`],
    ['an empty item', '::'],
    ['two items', `:${BASE64}:, :${BASE64}:`],
    ['other characters', `:${BASE64}\u00e9:`],
    ['the other alphabet', ':-_-_:'],
    ['broken escapes', '%%%'],
    ['a key', encodeURIComponent('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----')],
    ['an unfinished certificate', encodeURIComponent(`-----BEGIN CERTIFICATE-----\n${BASE64}`)],
    ['two elements of Envoy', `Hash=${HASH.toString('hex')},Hash=${'0'.repeat(64)}`],
    ['two elements of Envoy, quoted', `Subject="a",Hash=${HASH.toString('hex')}`],
    ['two hashes of Envoy', `Hash=${HASH.toString('hex')};Hash=${HASH.toString('hex')}`],
    ['a short hash of Envoy', 'Hash=abcd'],
    ['a long hash of Envoy', `Hash=${HASH.toString('hex')}00`],
    ['a hash of Envoy behind another character', `Hash=x${HASH.toString('hex')}`],
    ['an element of Envoy without a hash', 'By=spiffe://a;URI=spiffe://b'],
    ['a quote without its end', `Subject="a;Hash=${HASH.toString('hex')}`],
  ])('is not read from %s', (_, value) => {
    expect(thumbprintIn(value)).toBeNull();
  });

  it.each([0, 1, 2])('is read from a certificate with %i more bytes', more => {
    const der = Buffer.concat([DER, Buffer.alloc(more)]);
    const thumbprint = createHash('sha256').update(der).digest('base64url');
    expect(thumbprintIn(`:${der.toString('base64')}:`)).toBe(thumbprint);
  });

  it('is that of the bytes, whatever else is in the subject of Envoy', () => {
    const forged = `Subject="a;Hash=${'0'.repeat(64)}";Hash=${HASH.toString('hex')}`;
    expect(thumbprintIn(forged)).toBe(HASH.toString('base64url'));
  });
});
