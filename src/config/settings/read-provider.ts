import type { Clock } from '../../core/index.ts';
import type {
  ClientAuthentication,
  ClientOptions,
  OptionError,
  ProviderOptions,
  ProviderTls,
  ProxyVariables,
  SignInOptions,
} from '../../identity/signin/index.ts';
import { NO_TLS, optionErrors, PROVIDER_LIMITS } from '../../identity/signin/index.ts';
import { asList, asMap, type ConfigFile, type Path, Section } from '../file/index.ts';
import type { NoticePlaces } from '../model/index.ts';
import { type IdentityProviderConfig, identityProviderSchema, providerEntrySchema } from './provider-keys.ts';
import { readProxy } from './provider-proxy.ts';
import { chooseSecret, type FileText, SecretFiles, type TlsFiles } from './secret-files.ts';
import { tenantsOf } from './tenants.ts';

/** The sign-in part of a provider's section. */
type SignInSection = Omit<SignInOptions, 'signOutEnds'>;

/** A provider and the gateway's settings as its client, with secrets and keys read. */
export interface ProviderConfigOptions {
  readonly provider: ProviderOptions;
  /** The gateway's client settings; `null` if it is not a client. */
  readonly client: ClientOptions | null;
  readonly maxInFlight: number;
  /** How users sign in; `null` if they do not. */
  readonly signIn: SignInSection | null;
  readonly notices: NoticePlaces;
}

/** The sections of the providers. */
export function writtenProviders(file: ConfigFile): readonly Section[] {
  const { identity_provider: one, identity_providers: several } = asMap(file.value);
  return [
    ...(one === undefined ? [] : [new Section(file, ['identity_provider'], one)]),
    ...asList(several).map((entry, index) => new Section(file, ['identity_providers', index], entry)),
  ];
}

/** Reads the providers and the files they name. Leaves out one that cannot be used, which is reported. */
export async function readProviders(
  file: ConfigFile,
  clock: Clock,
): Promise<readonly ProviderConfigOptions[]> {
  const read: ProviderConfigOptions[] = [];
  for (const section of writtenProviders(file)) {
    const provider = await readProvider(section, clock);
    if (provider !== null) read.push(provider);
  }
  return read;
}

async function readProvider(section: Section, clock: Clock): Promise<ProviderConfigOptions | null> {
  const schema = section.path[0] === 'identity_provider' ? identityProviderSchema : providerEntrySchema;
  const files = new SecretFiles(section, clock);
  const clientSecret = await files.read('secret', 'client_secret_file');
  const privateKey = await files.read('key', 'private_key_file');
  const certificate = await files.certificateOf(privateKey, 'client_assertion', 'certificate_file');
  const tlsFiles = await files.tls();
  const { success, data, error } = schema.safeParse(section.raw);
  if (!success) {
    checkSoundPart(section, schema, new Set(error.issues.map(issue => issue.path[0])));
    return null;
  }
  const config: IdentityProviderConfig = data;
  checkRoles(section, config);
  // Without it the request is no OpenID request (OpenID Connect Core 1.0, 3.1.2.1).
  if (!config.scope.split(' ').includes('openid'))
    section.warn('scope', 'without "openid" the provider issues no ID token');
  const tls = tlsOf(tlsFiles);
  const authentication =
    config.client_id === undefined
      ? ({ kind: 'none' } as const)
      : clientAuthentication(section, config, { clientSecret, privateKey, certificate });
  const provider = providerOptions(config, tls, readProxy(section, config.proxy));
  // A missing part was already reported; checks the rest as if that part were not configured.
  const stand = tls === null || authentication === null ? ({ kind: 'none' } as const) : authentication;
  const client =
    config.client_id === undefined ? null : { clientId: config.client_id, clientAuthentication: stand };
  addOptionErrors(section, config, provider, client);
  if (tls === null || authentication === null) return null;
  return partsOf(config, provider, client);
}

function partsOf(
  config: IdentityProviderConfig,
  provider: ProviderOptions,
  client: ClientOptions | null,
): ProviderConfigOptions {
  const { not_before_push = null, back_channel_logout = null } = config.notices;
  return {
    provider,
    client,
    maxInFlight: config.max_in_flight,
    signIn: client && signInOptions(config, client),
    notices: { not_before_push, back_channel_logout },
  };
}

/** Reads a provider without its secrets and certificates, for commands that send it no requests. */
export function providerWithoutSecrets(config: IdentityProviderConfig): ProviderConfigOptions {
  const { client_id: clientId } = config;
  // An empty secret or key, which no provider accepts.
  const clientAuthentication = authenticationOf(config, '', '', null);
  const client = clientId === undefined ? null : { clientId, clientAuthentication };
  return partsOf(config, providerOptions(config, null), client);
}

/** Checks the valid addresses, so that another error does not hide their problems. */
function checkSoundPart(
  section: Section,
  schema: typeof identityProviderSchema | typeof providerEntrySchema,
  wrong: ReadonlySet<PropertyKey | undefined>,
): void {
  const known = Object.entries(section.raw).filter(
    ([key]) => !wrong.has(key) && Object.hasOwn(schema.shape, key),
  );
  // An unknown key, or an invalid value, may have been meant to allow http.
  const mayAllowHttp = wrong.has(undefined) || wrong.has('allow_http');
  const standIns = schema === identityProviderSchema ? STAND_INS : { ...STAND_INS, ...STAND_INS_OF_ENTRY };
  const part = { ...standIns, ...Object.fromEntries(known), ...(mayAllowHttp ? { allow_http: true } : {}) };
  const { data: config } = schema.safeParse(part);
  if (config === undefined) return;
  addOptionErrors(section, config, providerOptions(config, null), null);
}

/** Valid values that stand in for missing required keys. */
const STAND_INS = { issuer: 'https://id.invalid' };
const STAND_INS_OF_ENTRY = { name: 'main', audience: 'any' };

function signInOptions(config: IdentityProviderConfig, client: ClientOptions): SignInSection | null {
  if (config.redirect_uri === undefined) return null;
  return {
    ...client,
    redirectUri: config.redirect_uri,
    scope: config.scope,
    authorizationParameters: config.authorization_parameters,
    redirectAllowList: config.redirect_uris,
    maxInFlight: config.max_in_flight,
  };
}

function providerOptions(
  config: IdentityProviderConfig,
  tls: ProviderTls | null,
  proxy: ProxyVariables | null = null,
): ProviderOptions {
  return {
    ...PROVIDER_LIMITS,
    issuer: config.issuer,
    tenants: tenantsOf(config),
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
    proxy,
    tls: tls ?? NO_TLS,
    timeoutMs: config.timeout,
  };
}

/** Returns null if a file is unusable, which was reported. */
function tlsOf({ ca, certificate, key }: TlsFiles): ProviderTls | null {
  if (ca === null || certificate === null || key === null) return null;
  return { ca: ca ?? null, certificate: certificate ?? null, key: key ?? null };
}

/** Adds the problems with a provider's options to the file, at the keys that they come from. */
function addOptionErrors(
  section: Section,
  { redirect_uri: redirectUri }: IdentityProviderConfig,
  provider: ProviderOptions,
  client: ClientOptions | null,
): void {
  for (const { option, message } of optionErrors(provider, client, redirectUri ?? null)) {
    const isOfKey = option === 'clientAuthentication' && section.has('private_key_file');
    section.add(isOfKey ? 'private_key_file' : keysOf(option), message);
  }
}

/** The keys of the file for an option of signin/: `endpoints`, `key_set` for `endpoints.keySet`. */
function keysOf(option: OptionError['option']): string[] {
  return option.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`).split('.');
}

/** The keys that need a client: sign-in and notices refer to it, the others set how the gateway authenticates as it. */
const NEED_CLIENT = [
  'redirect_uri',
  'client_authentication',
  'client_secret',
  'client_secret_file',
  'private_key_file',
  'private_key_id',
  'client_assertion',
  'notices',
] as const;

/** Keys for a client's requests. */
const OF_CLIENT: readonly Path[] = [['max_in_flight'], ['endpoints', 'introspection']];

const OF_SIGN_IN: readonly Path[] = [
  ['redirect_uris'],
  ['scope'],
  ['authorization_parameters'],
  ['endpoints', 'authorization'],
  ['endpoints', 'token'],
  ['endpoints', 'revocation'],
  ['endpoints', 'end_session'],
];

/** Checks that a provider whose tokens are only verified does not look as if users could sign in there. */
function checkRoles(section: Section, config: IdentityProviderConfig): void {
  const addWithout = (keys: readonly Path[], lacking: string) => {
    for (const key of keys) if (section.has(key)) section.addUseless(key, `without "${lacking}"`);
  };
  if (config.redirect_uri === undefined) addWithout(OF_SIGN_IN, 'redirect_uri');
  if (config.client_id !== undefined) return;
  const needing = NEED_CLIENT.filter(key => section.has(key));
  if (needing.length === 0) addWithout(OF_CLIENT, 'client_id');
  else
    section.add(
      [],
      `missing key "client_id", the id of the gateway at the provider: ${allOf(needing)} ${needing.length > 1 ? 'need' : 'needs'} it`,
    );
}

function allOf(keys: readonly string[]): string {
  const quoted = keys.map(key => `"${key}"`);
  return [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter(part => part !== '').join(' and ');
}

const WITH_SECRET = ['client_secret_basic', 'client_secret_post'];
const USED_BY = {
  client_secret: WITH_SECRET,
  client_secret_file: WITH_SECRET,
  private_key_file: ['private_key_jwt'],
  private_key_id: ['private_key_jwt'],
  client_assertion: ['private_key_jwt'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Builds the client authentication. Returns null, and adds an error to the file, if something is missing. */
function clientAuthentication(
  section: Section,
  config: IdentityProviderConfig,
  files: Readonly<Record<'clientSecret' | 'privateKey' | 'certificate', FileText>>,
): ClientAuthentication | null {
  const { client_authentication: kind } = config;
  for (const [key, kinds] of Object.entries(USED_BY))
    if (config[key as keyof typeof USED_BY] !== undefined && !kinds.some(each => each === kind))
      section.addUseless(key, `with client_authentication: ${kind}`);
  const secret = WITH_SECRET.includes(kind) ? clientSecret(section, config, files.clientSecret) : '';
  const key = kind === 'private_key_jwt' ? files.privateKey : '';
  if (key === undefined) section.add([], 'missing key "private_key_file": private_key_jwt needs it');
  const { certificate = null } = files;
  const isUnusable = certificate === null && config.client_assertion?.certificate_file !== undefined;
  if (secret === null || typeof key !== 'string' || isUnusable) return null;
  return authenticationOf(config, secret, key, certificate);
}

function authenticationOf(
  { client_authentication: kind, private_key_id: keyId, client_assertion: assertion }: IdentityProviderConfig,
  secret: string,
  key: string,
  certificate: string | null,
): ClientAuthentication {
  switch (kind) {
    case 'client_secret_basic':
    case 'client_secret_post':
      return { kind, secret };
    case 'private_key_jwt':
      return {
        kind,
        key,
        keyId: keyId ?? null,
        algorithm: null,
        audience: assertion?.audience ?? 'issuer',
        certificate,
      };
    default:
      return { kind };
  }
}

function clientSecret(
  section: Section,
  { client_authentication: kind, client_secret: variable }: IdentityProviderConfig,
  fromFile: FileText,
): string | null {
  const secret = chooseSecret(section.file, section.at('client_secret'), { variable, fromFile });
  if (secret !== undefined) return secret;
  section.add([], `missing key "client_secret_file": ${kind} needs it, or client_secret: "\${NAME}"`);
  return null;
}
