import { createPrivateKey, type KeyObject, type webcrypto } from 'node:crypto';
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  None,
  PrivateKeyJwt,
  TlsClientAuth,
} from 'openid-client';
import type { AssertionAlgorithm, ClientAuthentication } from './options.ts';
import type { ProviderMetadata } from './provider/index.ts';

const CURVES: Readonly<Record<string, { curve: string; algorithm: AssertionAlgorithm }>> = {
  prime256v1: { curve: 'P-256', algorithm: 'ES256' },
  secp384r1: { curve: 'P-384', algorithm: 'ES384' },
  secp521r1: { curve: 'P-521', algorithm: 'ES512' },
};

/** Translates the options for openid-client. Throws a `TypeError` with a message for the operator when a key is unusable. */
export function clientAuth(authentication: ClientAuthentication): ClientAuth {
  switch (authentication.kind) {
    case 'client_secret_basic':
      return ClientSecretBasic(authentication.secret);
    case 'client_secret_post':
      return ClientSecretPost(authentication.secret);
    case 'private_key_jwt': {
      const key = signingKey(authentication.key, authentication.algorithm);
      return PrivateKeyJwt(authentication.keyId === null ? key : { key, kid: authentication.keyId });
    }
    case 'tls_client_auth':
      return TlsClientAuth();
    case 'none':
      return None();
  }
}

function signingKey(pem: string, algorithm: AssertionAlgorithm | null): webcrypto.CryptoKey {
  const key = readKey(pem);
  if (key.asymmetricKeyType === 'rsa') return rsaKey(key, algorithm ?? 'RS256');
  if (key.asymmetricKeyType === 'ec') return ecKey(key, algorithm);
  throw new TypeError(`a key of type ${key.asymmetricKeyType} cannot sign client assertions: use RSA or EC`);
}

function readKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // Drop the cause: nothing that has seen a private key may get near a log.
    throw new TypeError('the key is not an unencrypted private key in PEM form');
  }
}

function rsaKey(key: KeyObject, algorithm: AssertionAlgorithm): webcrypto.CryptoKey {
  if (algorithm.startsWith('ES')) throw new TypeError(`an RSA key cannot sign ${algorithm}`);
  const name = algorithm.startsWith('PS') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5';
  return key.toCryptoKey({ name, hash: `SHA-${algorithm.slice(2)}` }, false, ['sign']);
}

function ecKey(key: KeyObject, algorithm: AssertionAlgorithm | null): webcrypto.CryptoKey {
  const known = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (known === undefined) throw new TypeError('an EC key must be on P-256, P-384 or P-521');
  if (algorithm !== null && algorithm !== known.algorithm) {
    throw new TypeError(`an EC key on ${known.curve} signs ${known.algorithm}, not ${algorithm}`);
  }
  return key.toCryptoKey({ name: 'ECDSA', namedCurve: known.curve }, false, ['sign']);
}

/** The provider and its client in the form that openid-client takes. Mutable and cheap, so each use makes its own. */
export function libraryConfiguration(
  metadata: ProviderMetadata,
  clientId: string,
  authentication: ClientAuth,
): Configuration {
  const endpoints = {
    authorization_endpoint: metadata.authorizationEndpoint,
    token_endpoint: metadata.tokenEndpoint,
    revocation_endpoint: metadata.revocationEndpoint,
    introspection_endpoint: metadata.introspectionEndpoint,
  };
  const known = Object.fromEntries(Object.entries(endpoints).filter(([, url]) => url !== null));
  const server = { issuer: metadata.issuer, ...known };
  const configuration = new Configuration(server, clientId, undefined, authentication);
  // provider/metadata.ts already decided which addresses may be plain http.
  allowInsecureRequests(configuration);
  return configuration;
}
