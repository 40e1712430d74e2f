import { expect, test } from 'vitest';
import type { ProviderOptions } from '../../../../src/identity/signin/options.ts';
import {
  configuredMetadata,
  discoveryAddress,
  readMetadata,
} from '../../../../src/identity/signin/provider.ts';
import { PROVIDER_OPTIONS } from '../../../support/identity-options.ts';

const options = (more: Partial<ProviderOptions> = {}): ProviderOptions => ({
  ...PROVIDER_OPTIONS,
  issuer: 'https://id.example/realms/main',
  ...more,
});
const document = {
  issuer: 'https://id.example/realms/main',
  authorization_endpoint: 'https://id.example/auth',
  token_endpoint: 'https://id.example/token',
  jwks_uri: 'https://id.example/certs',
};
const endpoints = (more: Partial<ProviderOptions['endpoints']>) => ({
  ...PROVIDER_OPTIONS.endpoints,
  ...more,
});

test('the document is where the issuer says, or where the operator does', () => {
  expect(discoveryAddress(options())).toBe('https://id.example/realms/main/.well-known/openid-configuration');
  expect(discoveryAddress(options({ issuer: 'https://id.example/' }))).toBe(
    'https://id.example/.well-known/openid-configuration',
  );
  expect(discoveryAddress(options({ discoveryUrl: 'http://keycloak:8080/x' }))).toBe(
    'http://keycloak:8080/x',
  );
});

test('the endpoints are the document’s', () => {
  expect(readMetadata(document, options())).toEqual({
    issuer: 'https://id.example/realms/main',
    authorizationEndpoint: 'https://id.example/auth',
    tokenEndpoint: 'https://id.example/token',
    keySetUrl: 'https://id.example/certs',
    revocationEndpoint: null,
    endSessionEndpoint: null,
    introspectionEndpoint: null,
  });
});

test('the operator’s endpoints come first, and the document need not have them', () => {
  const { token_endpoint: _, ...without } = document;
  const given = options({
    endpoints: endpoints({ token: 'https://inside/token', keySet: 'https://inside/certs' }),
  });
  expect(readMetadata(without, given)).toMatchObject({
    authorizationEndpoint: 'https://id.example/auth',
    tokenEndpoint: 'https://inside/token',
    keySetUrl: 'https://inside/certs',
  });
});

test('three configured endpoints need no document, two do', () => {
  const three = endpoints({ authorization: 'https://a/', token: 'https://t/', keySet: 'https://k/' });
  expect(configuredMetadata(options({ endpoints: three }))).toMatchObject({ tokenEndpoint: 'https://t/' });
  expect(configuredMetadata(options({ endpoints: { ...three, keySet: null } }))).toBeUndefined();
});

test.each([
  'https://id.example/realms/main/',
  'https://ID.example/realms/main',
  'https://id.example:443/realms/main',
  'http://id.example/realms/main',
  'https://id.example/realms/other',
  '',
  undefined,
  null,
  ['https://id.example/realms/main'],
])('the issuer %j is a different one', issuer => {
  expect(() => readMetadata({ ...document, issuer }, options())).toThrow(
    `says issuer ${JSON.stringify(issuer) ?? 'nothing'}, the configuration says "https://id.example/realms/main"`,
  );
});

test.each(['authorization_endpoint', 'token_endpoint', 'jwks_uri'])(
  'a document without a good %s cannot be used',
  name => {
    expect(() => readMetadata({ ...document, [name]: undefined }, options())).toThrow(`has no ${name}`);
    expect(() => readMetadata({ ...document, [name]: 7 }, options())).toThrow(`has no ${name}`);
    expect(() => readMetadata({ ...document, [name]: '/relative' }, options())).toThrow(
      `has a ${name} that is not an absolute`,
    );
    expect(() => readMetadata({ ...document, [name]: 'http://id.example/' }, options())).toThrow(
      `has a ${name} that is plain http`,
    );
  },
);

test.each([null, 7, 'text', []])('%j is not a document', value => {
  expect(() => readMetadata(value, options())).toThrow('the discovery document');
});

test('the host for client certificates is used with a certificate', () => {
  const aliased = { ...document, mtls_endpoint_aliases: { token_endpoint: 'https://mtls.example/token' } };
  const tls = { ca: null, certificate: 'PEM', key: 'PEM' };
  expect(readMetadata(aliased, options()).tokenEndpoint).toBe('https://id.example/token');
  expect(readMetadata(aliased, options({ tls })).tokenEndpoint).toBe('https://mtls.example/token');
  expect(readMetadata({ ...aliased, mtls_endpoint_aliases: {} }, options({ tls })).tokenEndpoint).toBe(
    'https://id.example/token',
  );
});

test('where refresh tokens and sessions end is the document’s word too, or the operator’s, and may be missing', () => {
  const ends = {
    revocation_endpoint: 'https://id.example/revoke',
    end_session_endpoint: 'https://id.example/logout',
  };
  expect(readMetadata({ ...document, ...ends }, options())).toMatchObject({
    revocationEndpoint: 'https://id.example/revoke',
    endSessionEndpoint: 'https://id.example/logout',
  });
  const given = options({
    endpoints: endpoints({ revocation: 'https://inside/revoke', endSession: 'https://inside/logout' }),
  });
  expect(readMetadata({ ...document, ...ends }, given)).toMatchObject({
    revocationEndpoint: 'https://inside/revoke',
    endSessionEndpoint: 'https://inside/logout',
  });
});

test.each([7, 'http://id.example/revoke', 'javascript:1', ''])(
  'a place to revoke tokens that the gateway may not call, %j, leaves the document usable without it',
  revocation_endpoint => {
    expect(readMetadata({ ...document, revocation_endpoint }, options()).revocationEndpoint).toBeNull();
  },
);

test('the host for client certificates is where they revoke tokens, too', () => {
  const aliased = {
    ...{ ...document, revocation_endpoint: 'https://id.example/revoke' },
    mtls_endpoint_aliases: { revocation_endpoint: 'https://mtls.example/revoke' },
  };
  const tls = { ca: null, certificate: 'PEM', key: 'PEM' };
  expect(readMetadata(aliased, options()).revocationEndpoint).toBe('https://id.example/revoke');
  expect(readMetadata(aliased, options({ tls })).revocationEndpoint).toBe('https://mtls.example/revoke');
});

test('with tenants the document may name all of them by any placeholder, or an accepted one', () => {
  const tenants = { before: 'https://id.example/', claim: 'tid', after: '/v2.0', values: ['red'] };
  const accepts = (issuer: unknown) => {
    try {
      readMetadata({ ...document, issuer }, options({ issuer: 'https://id.example/{tid}/v2.0', tenants }));
      return true;
    } catch {
      return false;
    }
  };
  const good = ['{tid}', '{tenantid}', 'red'].map(name => `https://id.example/${name}/v2.0`);
  expect(good.map(accepts)).toEqual([true, true, true]);
  const bad = ['https://id.example/blue/v2.0', 'https://evil.example/{tid}/v2.0', '', 7, undefined];
  expect(bad.map(accepts)).toEqual([false, false, false, false, false]);
});
