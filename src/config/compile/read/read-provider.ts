import type { Clock } from '../../../core/index.ts';
import {
  type ClientAuthentication,
  type ClientOptions,
  NO_TLS,
  PROVIDER_LIMITS,
  type ProviderOptions,
  type ProviderTls,
  type SignInOptions,
} from '../../../signin/index.ts';
import { asMap, type ConfigFile, type Path } from '../../file/index.ts';
import type { NoticePlaces } from '../../model/index.ts';
import {
  type IdentityProviderConfig,
  identityProviderSchema,
  providerEntrySchema,
} from '../../schema/index.ts';
import { clientAuthentication } from './compile-client-authentication.ts';
import { noticePlaces } from './notice-places.ts';
import { addOptionErrors } from './provider-option-errors.ts';
import { checkRoles, warnOfScope } from './provider-roles.ts';
import { SecretFiles, type TlsFiles } from './secret-files.ts';

/** What a provider's section says about signing in. */
type SignInHere = Omit<SignInOptions, 'signOutEnds'>;

/** A provider and the gateway's part as its client, with secrets and keys read. */
export interface ProviderConfigOptions {
  readonly provider: ProviderOptions;
  /** Null: the gateway is no client of it. */
  readonly client: ClientOptions | null;
  /** Requests in flight to it. */
  readonly maxInFlight: number;
  /** Null: nobody signs in there. */
  readonly signIn: SignInHere | null;
  readonly notices: NoticePlaces;
}

/** A section of gateway.yaml about one provider. */
interface Section {
  readonly path: Path;
  readonly schema: typeof identityProviderSchema | typeof providerEntrySchema;
}

/**
 * Reads `identity_provider` or `identity_providers` of gateway.yaml and the files they name. Leaves out a provider that cannot
 * be used, after adding diagnostics to the file.
 */
export async function readProviders(
  file: ConfigFile,
  clock: Clock,
): Promise<readonly ProviderConfigOptions[]> {
  const { identity_provider: one, identity_providers: several } = asMap(file.value);
  const sections: Section[] =
    one === undefined ? [] : [{ path: ['identity_provider'], schema: identityProviderSchema }];
  const entries: readonly unknown[] = Array.isArray(several) ? several : [];
  for (const index of entries.keys())
    sections.push({ path: ['identity_providers', index], schema: providerEntrySchema });
  const read: ProviderConfigOptions[] = [];
  for (const section of sections) {
    const provider = await readProvider(file, section, clock);
    if (provider !== null) read.push(provider);
  }
  return read;
}

async function readProvider(
  file: ConfigFile,
  { path, schema }: Section,
  clock: Clock,
): Promise<ProviderConfigOptions | null> {
  const raw = file.valueAt(path);
  const files = new SecretFiles(file, path, clock);
  const clientSecret = await files.secret('client_secret_file');
  const privateKey = await files.privateKey('private_key_file');
  const tlsFiles = await files.tls();
  const { success, data, error } = schema.safeParse(raw);
  if (!success) {
    checkSoundPart(file, { path, schema }, asMap(raw), new Set(error.issues.map(issue => issue.path[0])));
    return null;
  }
  const config: IdentityProviderConfig = data;
  checkRoles(file, path, config);
  warnOfScope(file, path, config);
  const tls = tlsOf(tlsFiles);
  const authentication =
    config.client_id === undefined
      ? ({ kind: 'none' } as const)
      : clientAuthentication(file, path, config, { clientSecret, privateKey });
  const provider = providerOptions(config, tls);
  // A missing part was reported already; checks the rest as if that part were not configured.
  const stand = tls === null || authentication === null ? ({ kind: 'none' } as const) : authentication;
  const client =
    config.client_id === undefined ? null : { clientId: config.client_id, clientAuthentication: stand };
  addOptionErrors(file, path, { provider, client, redirectUri: config.redirect_uri ?? null });
  if (tls === null || authentication === null) return null;
  return {
    provider,
    client,
    maxInFlight: config.max_in_flight,
    signIn: client && signInOptions(config, client),
    notices: noticePlaces(config.notices),
  };
}

/** A provider without its secrets and certificates, for whom does not ask it anything. */
export function providerWithoutSecrets(
  config: IdentityProviderConfig,
  clientAuthentication: ClientAuthentication,
): ProviderConfigOptions {
  const { client_id: clientId } = config;
  const client = clientId === undefined ? null : { clientId, clientAuthentication };
  return {
    provider: providerOptions(config, null),
    client,
    maxInFlight: config.max_in_flight,
    signIn: client && signInOptions(config, client),
    notices: noticePlaces(config.notices),
  };
}

/** Checks the addresses that are valid in themselves, so that another error does not hide theirs. */
function checkSoundPart(
  file: ConfigFile,
  { path, schema }: Section,
  raw: Readonly<Record<string, unknown>>,
  wrong: ReadonlySet<PropertyKey | undefined>,
): void {
  const known = Object.entries(raw).filter(([key]) => !wrong.has(key) && Object.hasOwn(schema.shape, key));
  // An unknown key, or an invalid value, may have been meant to allow http.
  const mayAllowHttp = wrong.has(undefined) || wrong.has('allow_http');
  const standIns = schema === identityProviderSchema ? STAND_INS : { ...STAND_INS, ...STAND_INS_OF_ENTRY };
  const part = { ...standIns, ...Object.fromEntries(known), ...(mayAllowHttp ? { allow_http: true } : {}) };
  const { data: config } = schema.safeParse(part);
  if (config === undefined) return;
  const provider = providerOptions(config, null);
  addOptionErrors(file, path, { provider, client: null, redirectUri: config.redirect_uri ?? null });
}

/** Valid values in place of required keys. */
const STAND_INS = { issuer: 'https://id.invalid' };
const STAND_INS_OF_ENTRY = { name: 'main', audience: 'any' };

function signInOptions(config: IdentityProviderConfig, client: ClientOptions): SignInHere | null {
  if (config.redirect_uri === undefined) return null;
  return {
    ...client,
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
      introspection: config.endpoints.introspection ?? null,
    },
    signsIn: config.redirect_uri !== undefined,
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
