import { secureContextOf } from './ask-provider.ts';
import { clientAuth } from './client-request.ts';
import type { ClientOptions, EndpointOverrides, ProviderOptions, ProviderTls } from './options.ts';
import { addressError, configuredMetadata, discoveryAddress } from './provider.ts';

/** An option that cannot work. The message follows the option's name in a sentence: "must begin with https://". */
export interface OptionError {
  readonly option:
    | 'issuer'
    | 'discoveryUrl'
    | `endpoints.${keyof EndpointOverrides}`
    | 'tls'
    | 'clientAuthentication'
    | 'redirectUri';
  readonly message: string;
}

/**
 * Everything that is wrong with the options, to be reported at startup.
 *
 * @param client `null` if the gateway is not a client of the provider
 * @param redirectUri `null` if no user signs in there
 */
export function optionErrors(
  provider: ProviderOptions,
  client: ClientOptions | null,
  redirectUri: string | null,
): readonly OptionError[] {
  const found: [OptionError['option'], string | undefined][] = [
    ...addressErrors(provider),
    ['tls', tlsError(provider.tls)],
    ['clientAuthentication', client === null ? undefined : authenticationError(provider, client)],
    ['redirectUri', redirectUri === null || URL.canParse(redirectUri) ? undefined : 'is not an absolute URI'],
  ];
  return found.flatMap(([option, message]) => (message === undefined ? [] : [{ option, message }]));
}

const ENDPOINTS = ['authorization', 'token', 'keySet', 'revocation', 'endSession', 'introspection'] as const;

function addressErrors(provider: ProviderOptions): [OptionError['option'], string | undefined][] {
  const check = (text: string | null) =>
    text === null ? undefined : (noScheme(text) ?? addressError(text, provider.allowHttp));
  return [
    // The issuer is a name. It is used as an address only if none is configured for the discovery document.
    ['issuer', isIssuerAsked(provider) ? issuerError(provider) : undefined],
    ['discoveryUrl', check(provider.discoveryUrl)],
    ...ENDPOINTS.map(
      name =>
        [`endpoints.${name}`, check(provider.endpoints[name])] as [OptionError['option'], string | undefined],
    ),
  ];
}

/** Whether the issuer is used as an address: not if another address, or all endpoints, are given, nor if it has a placeholder. */
function isIssuerAsked(provider: ProviderOptions): boolean {
  const { discoveryUrl, issuer } = provider;
  return discoveryUrl === null && configuredMetadata(provider) === undefined && !/[{}]/.test(issuer);
}

/** `URL` reads `id.example.com:8443/x` as a URL with the scheme "id.example.com". */
function noScheme(text: string): string | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? undefined : 'has no scheme: write https:// before it';
}

function issuerError(provider: ProviderOptions): string | undefined {
  const error = noScheme(provider.issuer) ?? addressError(provider.issuer, provider.allowHttp);
  if (error !== undefined) return error;
  const document = /\/\.well-known\/(?:openid-configuration|oauth-authorization-server)(?:\/|$)/.exec(
    provider.issuer,
  )?.[0];
  if (document !== undefined)
    return `is the address of the discovery document: leave out "${document.replace(/\/$/, '')}"`;
  if (URL.parse(discoveryAddress(provider))?.search !== '') return 'must not have a query';
  return undefined;
}

function tlsError(tls: ProviderTls): string | undefined {
  if ((tls.certificate === null) !== (tls.key === null)) return 'needs a certificate and its key, or neither';
  try {
    secureContextOf(tls);
    return undefined;
  } catch {
    return 'has a certificate or key that cannot be read, or that do not belong together';
  }
}

function authenticationError(provider: ProviderOptions, client: ClientOptions): string | undefined {
  const { kind } = client.clientAuthentication;
  if (kind === 'tls_client_auth' && provider.tls.certificate === null)
    return 'needs a certificate and its key under tls';
  try {
    clientAuth(client.clientAuthentication);
    return undefined;
  } catch (error) {
    return error instanceof Error ? `cannot be used: ${error.message}` : 'cannot be used';
  }
}
