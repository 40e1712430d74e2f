import type { Clock } from '../../../core/index.ts';
import {
  NO_TLS,
  type OptionError,
  PROVIDER_LIMITS,
  type ProviderOptions,
  type ProviderTls,
  type SignInOptions,
  signInErrors,
} from '../../../signin/index.ts';
import { asMap, type ConfigFile } from '../../file/index.ts';
import { type IdentityProviderConfig, identityProviderSchema } from '../../schema/index.ts';
import { clientAuthentication } from './compile-client-authentication.ts';
import { SecretFiles, type TlsFiles } from './secret-files.ts';

const SECTION = 'identity_provider';

/** What `identity_provider` says about signing in. */
type ClientOptions = Omit<SignInOptions, 'signOutEnds'>;

/** The provider and the gateway's part as its client, with secrets and keys read. */
export interface ProviderConfigOptions {
  readonly provider: ProviderOptions;
  readonly signIn: ClientOptions;
}

/**
 * Reads `identity_provider` of gateway.yaml and the files it names. Returns null if the section is missing or, after adding
 * diagnostics to the file, if it cannot be used.
 */
export async function readProvider(file: ConfigFile, clock: Clock): Promise<ProviderConfigOptions | null> {
  const raw = asMap(file.value)[SECTION];
  if (raw === undefined) return null;
  const files = new SecretFiles(file, [SECTION], clock);
  const clientSecret = await files.secret('client_secret_file');
  const privateKey = await files.privateKey('private_key_file');
  const tlsFiles = await files.tls();
  const { success, data: config, error } = identityProviderSchema.safeParse(raw);
  if (!success) {
    checkSoundPart(file, asMap(raw), new Set(error.issues.map(({ path }) => path[0])));
    return null;
  }
  warnOfScope(file, config);
  const tls = tlsOf(tlsFiles);
  const authentication = clientAuthentication(file, config, { clientSecret, privateKey });
  const provider = providerOptions(config, tls);
  // A missing part was reported already; checks the rest as if that part were not configured.
  const stand = tls === null || authentication === null ? ({ kind: 'none' } as const) : authentication;
  const signIn = signInOptions(config, stand);
  for (const error of signInErrors(provider, signIn)) addError(file, error);
  return tls === null || authentication === null ? null : { provider, signIn };
}

/** The provider without its secrets and certificates, for whom does not ask it anything. */
export function providerWithoutSecrets(config: IdentityProviderConfig): ProviderConfigOptions {
  return { provider: providerOptions(config, null), signIn: signInOptions(config, { kind: 'none' }) };
}

/** Checks the addresses that are valid in themselves, so that another error does not hide theirs. */
function checkSoundPart(
  file: ConfigFile,
  raw: Readonly<Record<string, unknown>>,
  wrong: ReadonlySet<PropertyKey | undefined>,
): void {
  const known = Object.entries(raw).filter(
    ([key]) => !wrong.has(key) && Object.hasOwn(identityProviderSchema.shape, key),
  );
  // An unknown key, or an invalid value, may have been meant to allow http.
  const mayAllowHttp = wrong.has(undefined) || wrong.has('allow_http');
  const part = { ...STAND_INS, ...Object.fromEntries(known), ...(mayAllowHttp ? { allow_http: true } : {}) };
  const { data: config } = identityProviderSchema.safeParse(part);
  if (config === undefined) return;
  const provider = providerOptions(config, null);
  for (const error of signInErrors(provider, signInOptions(config, { kind: 'none' }))) addError(file, error);
}

/** Valid values in place of required keys. */
const STAND_INS = {
  issuer: 'https://id.invalid',
  client_id: 'gateway',
  redirect_uri: 'https://app.invalid/',
};

function signInOptions(
  config: IdentityProviderConfig,
  clientAuthentication: SignInOptions['clientAuthentication'],
): ClientOptions {
  return {
    clientId: config.client_id,
    clientAuthentication,
    redirectUri: config.redirect_uri,
    scope: config.scope,
    redirectAllowList: config.redirect_uris,
    maxInFlight: config.max_in_flight,
  };
}

function providerOptions(config: IdentityProviderConfig, tls: ProviderTls | null): ProviderOptions {
  return {
    ...PROVIDER_LIMITS,
    issuer: config.issuer,
    discoveryUrl: config.discovery_url ?? null,
    endpoints: {
      authorization: config.endpoints.authorization ?? null,
      token: config.endpoints.token ?? null,
      keySet: config.endpoints.key_set ?? null,
      revocation: config.endpoints.revocation ?? null,
      endSession: config.endpoints.end_session ?? null,
    },
    allowHttp: config.allow_http,
    tls: tls ?? NO_TLS,
    timeoutMs: config.timeout,
  };
}

/** Returns null if a file cannot be used, which was reported. */
function tlsOf({ ca, certificate, key }: TlsFiles): ProviderTls | null {
  if (ca === null || certificate === null || key === null) return null;
  return { ca: ca ?? null, certificate: certificate ?? null, key: key ?? null };
}

/** Warns if `openid` is missing: the request is then not an OpenID request (OpenID Connect Core 1.0, 3.1.2.1). */
function warnOfScope(file: ConfigFile, { scope }: IdentityProviderConfig): void {
  if (scope.split(' ').includes('openid')) return;
  file.add([SECTION, 'scope'], 'without "openid" the provider issues no ID token', { severity: 'warning' });
}

function addError(file: ConfigFile, { option, message }: OptionError): void {
  const keyFile = [SECTION, 'private_key_file'];
  const path = option === 'clientAuthentication' && file.has(keyFile) ? keyFile : [SECTION, ...KEYS[option]];
  file.add(path, message);
}

/** Maps the options of signin/ to keys of the file. */
const KEYS: Readonly<Record<OptionError['option'], readonly string[]>> = {
  issuer: ['issuer'],
  discoveryUrl: ['discovery_url'],
  'endpoints.authorization': ['endpoints', 'authorization'],
  'endpoints.token': ['endpoints', 'token'],
  'endpoints.keySet': ['endpoints', 'key_set'],
  'endpoints.revocation': ['endpoints', 'revocation'],
  'endpoints.endSession': ['endpoints', 'end_session'],
  tls: ['tls'],
  clientAuthentication: ['client_authentication'],
  redirectUri: ['redirect_uri'],
};
