import { expect, test } from 'vitest';
import { optionErrors } from '../../../../src/identity/signin/option-errors.ts';
import type { ProviderOptions, SignInOptions } from '../../../../src/identity/signin/options.ts';
import { PROVIDER_OPTIONS } from '../../../support/identity-options.ts';

const errors = (provider: Partial<ProviderOptions> = {}, signIn: Partial<SignInOptions> = {}) =>
  optionErrors(
    { ...PROVIDER_OPTIONS, issuer: 'https://id.example', ...provider },
    { clientId: 'gateway', clientAuthentication: { kind: 'none' }, ...signIn },
    signIn.redirectUri ?? 'https://app.example/cb',
  );

test('good options have no errors', () => {
  expect(errors()).toEqual([]);
  expect(errors({}, { redirectUri: 'com.example.app:/cb' })).toEqual([]);
});

test('every error is found at once', () => {
  const found = errors(
    {
      discoveryUrl: 'nowhere',
      endpoints: {
        authorization: 'http://id.example/',
        token: 'x',
        keySet: 'ftp://id.example',
        revocation: 'http://id.example/revoke',
        endSession: 'logout',
        introspection: 'http://id.example/introspect',
      },
      tls: { ca: null, certificate: 'marker', key: null },
    },
    {
      redirectUri: '/cb',
      clientAuthentication: {
        kind: 'private_key_jwt',
        key: 'marker',
        keyId: null,
        algorithm: null,
        audience: 'issuer',
        certificate: null,
      },
    },
  );
  expect(found.map(({ option }) => option)).toEqual([
    ...['discoveryUrl', 'endpoints.authorization', 'endpoints.token'],
    ...['endpoints.keySet', 'endpoints.revocation', 'endpoints.endSession'],
    ...['endpoints.introspection', 'tls', 'clientAuthentication', 'redirectUri'],
  ]);
  expect(JSON.stringify(found)).not.toContain('marker');
});

test('an issuer whose document is fetched must be an address that may be used', () => {
  expect(errors({ issuer: 'http://id.example' })).toMatchObject([{ option: 'issuer' }]);
  expect(errors({ issuer: 'https://id.example?x=1' })).toMatchObject([{ option: 'issuer' }]);
  expect(errors({ issuer: 'http://id.example', discoveryUrl: 'https://inside/x' })).toEqual([]);
});

test('a certificate that cannot be read is an error, and so is a missing one', () => {
  expect(errors({ tls: { ca: null, certificate: 'no PEM', key: 'no PEM' } })).toMatchObject([
    { option: 'tls' },
  ]);
  expect(errors({}, { clientAuthentication: { kind: 'tls_client_auth' } })).toMatchObject([
    { option: 'clientAuthentication' },
  ]);
});

test('an empty secret is an error', () => {
  expect(errors({}, { clientAuthentication: { kind: 'client_secret_basic', secret: '' } })).toMatchObject([
    { option: 'clientAuthentication' },
  ]);
});
