import { createPrivateKey, hash, type KeyObject, type webcrypto, X509Certificate } from 'node:crypto';
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientError,
  ClientSecretPost,
  Configuration,
  customFetch,
  type ModifyAssertionFunction,
  modifyAssertion,
  None,
  PrivateKeyJwt,
  TlsClientAuth,
} from 'openid-client';
import type { Permits } from '../../core/index.ts';
import { askProvider, jsonMembers, ProviderFault, type ProviderResponse } from './ask-provider.ts';
import { refusedBy } from './failures.ts';
import type { AssertionAlgorithm, ClientAuthentication, ClientOptions } from './options.ts';
import type { Provider, ProviderMetadata } from './provider.ts';

/** One request to an endpoint at which the gateway is a client. */
interface ClientRequest<T> {
  /** The endpoint's name in the log. */
  readonly endpoint: string;
  readonly url: string | null;
  /** The statuses of a success. Default: all of 2xx, since some providers answer 201 (CrowdStrike, Supabase, servers made with NestJS). */
  readonly successes?: readonly number[];
  /** The secrets in the request; they are cut out of the provider's explanation before it is logged. */
  readonly secrets: readonly string[];
  /** Further header fields. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Has openid-client build the request, authenticate it and send it, with the `customFetch` of the configuration. */
  send(configuration: Configuration, authenticate: ClientAuth): Promise<T>;
  /** Reads a success; returns the part for openid-client. May throw a `ProviderFault`. */
  read(response: ProviderResponse): Response;
}

/** The gateway as a client of the provider. The constructor throws a `TypeError` if the client's key is unusable. */
export class ProviderClient {
  readonly #options: ClientOptions;
  readonly #provider: Provider;
  readonly #authenticateAt: (url: string | null) => ClientAuth;

  constructor(options: ClientOptions, provider: Provider) {
    this.#options = options;
    this.#provider = provider;
    this.#authenticateAt = clientAuth(options.clientAuthentication);
  }

  /** The last known metadata of the provider; `undefined` until there is any. */
  get metadata(): ProviderMetadata | undefined {
    return this.#provider.metadata;
  }

  /**
   * Makes one request, which only its own deadline can cancel. openid-client only sees successes: this class handles refusals,
   * because the library skips the body of a refusal that has `WWW-Authenticate` or a 5xx status.
   *
   * Rejects with a `ProviderFault`, or with an error that holds nothing of what the library threw: its errors carry responses,
   * and so tokens.
   */
  async ask<T>(request: ClientRequest<T>, metadata: ProviderMetadata): Promise<T> {
    const authenticate = this.#authenticateAt(request.url);
    const configuration = libraryConfiguration(metadata, this.#options.clientId, authenticate);
    // Switch off the library's timeout, which restarts for each step and takes only whole milliseconds.
    configuration.timeout = 0;
    const { clock, network } = this.#provider.system;
    const deadline = clock.signalAfter(this.#provider.options.timeoutMs);
    let sent = false;
    let fault: unknown;
    configuration[customFetch] = async (url, { headers, body }) => {
      try {
        if (sent)
          throw new ProviderFault('nonsense', `a second request to the ${request.endpoint} was prevented`);
        sent = true;
        const fields = { ...headers, ...request.fields, 'user-agent': 'weir' };
        const post = { method: 'POST', url, headers: fields, body: String(body), deadline } as const;
        return this.#read(request, await askProvider(post, this.#provider.options, network));
      } catch (error) {
        fault = error;
        throw error;
      }
    };
    try {
      return await request.send(configuration, authenticate);
    } catch (error) {
      throw fault ?? unusable(request.endpoint, sent, error);
    }
  }

  #read<T>({ endpoint, successes, secrets, read }: ClientRequest<T>, response: ProviderResponse): Response {
    const { status } = response;
    const isGood = successes?.includes(status) ?? (status >= 200 && status < 300);
    if (isGood && !isRefusal(response)) return read(response);
    const { clientAuthentication: own } = this.#options;
    const fault = refusedBy(endpoint, response, 'secret' in own ? [...secrets, own.secret] : secrets);
    throw this.#withCause(fault);
  }

  /** Adds the likely cause if the provider refuses the gateway as a client: it has to authenticate in another way. */
  #withCause(fault: ProviderFault): ProviderFault {
    const { kind } = this.#options.clientAuthentication;
    const taken = this.metadata?.clientAuthentications;
    const isRefused = fault.error === 'invalid_client' || fault.error === 'unauthorized_client';
    if (!isRefused || !taken?.length || taken.some(name => name.endsWith(kind))) return fault;
    const { status, error, message } = fault;
    const why = `${message}; its discovery document lists ${taken.join(', ')}, and client_authentication is ${kind}`;
    return new ProviderFault('refused', why, { status: status ?? 0, ...(error && { error }) });
  }
}

/** Whether a response with a success status is an error: some providers send errors with a 200 (Casdoor, GitHub). */
function isRefusal({ body }: ProviderResponse): boolean {
  const members = jsonMembers(body);
  if (members === undefined || members.has('access_token') || members.has('active')) return false;
  const error = members.get('error');
  return typeof error === 'string' && error !== '';
}

/** Describes an unusable response only by the library's error code. If nothing was sent, the gateway is at fault. */
function unusable(endpoint: string, sent: boolean, error: unknown): Error {
  return sent && error instanceof ClientError && error.code !== undefined
    ? new ProviderFault('nonsense', `the response of the ${endpoint} cannot be used: ${error.code}`)
    : new Error(`a request to the ${endpoint} failed in the gateway`);
}

const CURVES: Readonly<Record<string, { curve: string; algorithm: AssertionAlgorithm }>> = {
  prime256v1: { curve: 'P-256', algorithm: 'ES256' },
  secp384r1: { curve: 'P-384', algorithm: 'ES384' },
  secp521r1: { curve: 'P-521', algorithm: 'ES512' },
};

/**
 * Translates the options for openid-client, for requests to an endpoint by its address. Throws a `TypeError` with a message for the
 * operator when a key is unusable.
 */
export function clientAuth(authentication: ClientAuthentication): (url: string | null) => ClientAuth {
  if (authentication.kind === 'private_key_jwt') return assertions(authentication);
  const same = sameEverywhere(authentication);
  return () => same;
}

function sameEverywhere(
  authentication: Exclude<ClientAuthentication, { readonly kind: 'private_key_jwt' }>,
): ClientAuth {
  switch (authentication.kind) {
    case 'client_secret_basic':
      return basic(authentication.secret);
    case 'client_secret_post':
      return ClientSecretPost(authentication.secret);
    case 'tls_client_auth':
      return TlsClientAuth();
    case 'none':
      return None();
  }
}

/**
 * RFC 6749, 2.3.1. openid-client also encodes characters that form encoding leaves alone, such as "-" and "_". Ids and secrets
 * often contain these, and providers that do not decode would refuse them (panva/oauth4webapi#148, #199).
 */
function basic(secret: string): ClientAuth {
  if (secret === '') throw new TypeError('the secret is empty');
  return (_provider, { client_id: id }, _body, headers) => {
    const credentials = [id, secret].map(text => encodeURIComponent(text).replaceAll('%20', '+')).join(':');
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

type KeyAuthentication = Extract<ClientAuthentication, { readonly kind: 'private_key_jwt' }>;

/** openid-client uses the issuer as the audience, with which a stolen assertion is least useful (RFC 7523bis, 4). */
function assertions(options: KeyAuthentication): (url: string | null) => ClientAuth {
  const { keyId, audience, certificate } = options;
  const key = signingKey(options.key, options.algorithm);
  const thumbprints = certificate === null ? {} : thumbprintsOf(certificate);
  return url => {
    const modify: ModifyAssertionFunction = (header, payload) => {
      Object.assign(header, thumbprints);
      if (audience !== 'issuer') payload['aud'] = audience === 'token_endpoint' ? (url ?? '') : audience;
    };
    return PrivateKeyJwt(keyId === null ? key : { key, kid: keyId }, { [modifyAssertion]: modify });
  };
}

/** RFC 7515, 4.1.7 and 4.1.8. */
function thumbprintsOf(certificate: string) {
  const { raw } = new X509Certificate(certificate);
  return { x5t: hash('sha1', raw, 'base64url'), 'x5t#S256': hash('sha256', raw, 'base64url') };
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
    // Drop the cause: an error about a private key must not reach the log.
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

/** The provider and its client as openid-client's `Configuration`. It is mutable and cheap, so each use makes its own. */
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
  // provider.ts already decided which addresses may be plain http.
  allowInsecureRequests(configuration);
  return configuration;
}

/** The share of the requests in flight that one address may hold. */
const SHARE = 1 / 4;

/**
 * Counts requests to the provider in flight, in total and per address, so that one client with slow requests cannot keep everyone
 * else from signing in.
 */
export class ProviderRequests {
  readonly #permits: Permits;
  readonly #max: number;

  /** @param max the maximum in total, at least 1 */
  constructor(max: number, permits: Permits) {
    this.#permits = permits;
    this.#max = max;
  }

  /** Counts another request and returns true, unless the total or the address has no room. */
  take(address: string): boolean {
    const share = Math.max(1, Math.floor(this.#max * SHARE));
    return this.#permits.take(address, this.#max, share) === null;
  }

  giveBack(address: string): void {
    this.#permits.giveBack(address);
  }
}
