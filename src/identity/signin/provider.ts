import {
  isSame,
  jsonIn,
  namesTenants,
  type SignInListener,
  type System,
  type Timer,
} from '../../core/index.ts';
import { hasOddIpv4, isLoopback } from '../../wire/http/index.ts';
import { getDocument, jsonMembers, ProviderFault, refreshDelayMs, retryDelayMs } from './ask-provider.ts';
import type { ProviderOptions } from './options.ts';

interface ProviderDependencies extends Pick<System, 'clock' | 'random' | 'network'> {
  readonly listener: Pick<SignInListener, 'discovered'>;
  /** Called when the metadata is first known and whenever it changes. */
  readonly changed?: (metadata: ProviderMetadata) => void;
  /** Metadata of the same issuer learnt before a reload, used until the first valid response. Default: none. */
  readonly known?: ProviderMetadata | undefined;
  /** Fetches the metadata; default: from the discovery document. Rejects with a `ProviderFault`. */
  readonly discover?: (
    options: ProviderOptions,
    system: Pick<System, 'clock' | 'network'>,
  ) => Promise<ProviderMetadata>;
}

/**
 * Learns the provider's endpoints and remembers them while the provider is unavailable. Fetches in the background until the first
 * valid response and periodically afterwards; a failed attempt only changes the time of the next.
 *
 * Outlives a reload that does not change its options. Call `start` and `stop` once each.
 */
export class Provider {
  readonly options: ProviderOptions;
  readonly #parts: ProviderDependencies;
  #metadata: ProviderMetadata | undefined;
  #failures = 0;
  #stopped = false;
  #timer: Timer | null = null;

  constructor(options: ProviderOptions, parts: ProviderDependencies) {
    this.options = options;
    this.#parts = parts;
    this.#metadata = parts.known;
  }

  /** The last valid metadata; undefined until there is any. */
  get metadata(): ProviderMetadata | undefined {
    return this.#metadata;
  }

  /** The parts of the system that its clients need to reach it. */
  get system(): Pick<System, 'clock' | 'network'> {
    return this.#parts;
  }

  /** Whether the endpoints are known. Stays true once it is. */
  get ready(): boolean {
    return this.#metadata !== undefined;
  }

  /** The JSON of the key set for its tokens. Rejects with a `ProviderFault`. */
  async fetchKeySet(deadline: AbortSignal): Promise<Buffer> {
    if (this.#metadata === undefined)
      throw new ProviderFault('unreachable', 'the endpoints are not known yet');
    return getDocument(this.#metadata.keySetUrl, this.options, deadline, this.#parts.network);
  }

  /** Starts fetching. If the options name every endpoint, they are known when this returns. */
  start(): void {
    const configured = configuredMetadata(this.options);
    if (configured === undefined) void this.#attempt();
    else this.learn(configured);
  }

  /** Stops fetching. The metadata stays, because requests in flight still need it. */
  stop(): void {
    this.#stopped = true;
    this.#parts.clock.cancel(this.#timer);
  }

  /**
   * Uses this metadata from now on. Keeps the same object while nothing changes, so that values derived from it stay valid.
   * Returns whether anything changed.
   */
  learn(metadata: ProviderMetadata): boolean {
    if (isSame(this.#metadata, metadata)) return false;
    this.#metadata = metadata;
    this.#parts.changed?.(metadata);
    return true;
  }

  async #attempt(): Promise<void> {
    const found = await this.#discover();
    if (this.#stopped) return;
    const cause = found instanceof ProviderFault ? found : null;
    this.#failures = cause === null ? 0 : this.#failures + 1;
    const learnt = !(found instanceof ProviderFault) && this.learn(found);
    const nextMs = Math.max(this.#waitMs(), cause?.throttledForMs ?? 0);
    this.#timer = this.#parts.clock.after(nextMs, () => void this.#attempt());
    this.#parts.listener.discovered({
      outcome: cause !== null ? 'failed' : learnt ? 'learnt' : 'confirmed',
      failures: this.#failures,
      nextMs,
      ready: this.ready,
      cause,
    });
  }

  async #discover(): Promise<ProviderMetadata | ProviderFault> {
    try {
      return await (this.#parts.discover ?? discover)(this.options, this.#parts);
    } catch (error) {
      // Any other error may contain bytes of the response: see `ProviderFault`.
      return error instanceof ProviderFault
        ? error
        : new ProviderFault('nonsense', 'discovery failed in the gateway');
    }
  }

  #waitMs(): number {
    const random = this.#parts.random();
    return this.#failures === 0
      ? refreshDelayMs(this.options.refreshMs, random)
      : retryDelayMs(this.#failures, random);
  }
}

/** What the gateway needs to know about a provider. Immutable: a new object means that something changed. */
export interface ProviderMetadata {
  readonly issuer: string;
  /** Where browsers go to sign in; `null` if no user signs in there. */
  readonly authorizationEndpoint: string | null;
  /** Where codes are redeemed; `null` if no user signs in there. */
  readonly tokenEndpoint: string | null;
  /** Where the keys that sign tokens are published (`jwks_uri`). */
  readonly keySetUrl: string;
  /** Where refresh tokens are revoked (RFC 7009); `null` if the gateway must not call such an endpoint. */
  readonly revocationEndpoint: string | null;
  /** Where sessions are ended; `null` if the gateway must not call such an endpoint. */
  readonly endSessionEndpoint: string | null;
  /** Where tokens are introspected (RFC 7662); `null` if the gateway must not call such an endpoint. */
  readonly introspectionEndpoint: string | null;
  /** How clients may authenticate there (`token_endpoint_auth_methods_supported`), for messages. Left out: the document does not say. */
  readonly clientAuthentications?: readonly string[];
}

/** The address of the discovery document (OpenID Connect Discovery 1.0, 4). */
export function discoveryAddress(options: ProviderOptions): string {
  return options.discoveryUrl ?? `${options.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

/** The metadata if the options give all of it, or undefined if a discovery document is needed. */
export function configuredMetadata(options: ProviderOptions): ProviderMetadata | undefined {
  const { authorization, token, keySet, revocation, endSession, introspection } = options.endpoints;
  if (keySet === null || (options.signsIn && (authorization === null || token === null))) return undefined;
  return {
    issuer: options.issuer,
    authorizationEndpoint: authorization,
    tokenEndpoint: token,
    keySetUrl: keySet,
    revocationEndpoint: revocation,
    endSessionEndpoint: endSession,
    introspectionEndpoint: introspection,
  };
}

/**
 * Reads a discovery document. Throws a `ProviderFault` whose message tells the operator what to change.
 *
 * The issuer must equal the configured one exactly (OpenID Connect Discovery 1.0, 4.3), even with a `discoveryUrl`: tokens
 * are compared in the same way, so tolerating a trailing slash here would mean refusing every token later.
 */
export function readMetadata(document: unknown, options: ProviderOptions): ProviderMetadata {
  if (typeof document !== 'object' || document === null) throw unusable('is not a JSON object');
  const members = new Map<string, unknown>(Object.entries(document));
  const issuer = members.get('issuer');
  if (!isIssuerOf(issuer, options)) {
    throw unusable(`says issuer ${shown(issuer)}, the configuration says ${shown(options.issuer)}`);
  }
  const { authorization, token, keySet, revocation, endSession, introspection } = options.endpoints;
  const ofSignIn = (name: string, value: unknown) =>
    options.signsIn ? endpoint(name, value, options) : null;
  return {
    issuer: options.issuer,
    authorizationEndpoint: ofSignIn(
      'authorization_endpoint',
      authorization ?? members.get('authorization_endpoint'),
    ),
    tokenEndpoint: ofSignIn('token_endpoint', token ?? calledEndpoint('token_endpoint', members, options)),
    keySetUrl: endpoint('jwks_uri', keySet ?? members.get('jwks_uri'), options),
    revocationEndpoint: revocation ?? optionalEndpoint('revocation_endpoint', members, options),
    endSessionEndpoint: endSession ?? optionalEndpoint('end_session_endpoint', members, options),
    introspectionEndpoint: introspection ?? optionalEndpoint('introspection_endpoint', members, options),
    ...authenticationsIn(members.get('token_endpoint_auth_methods_supported')),
  };
}

/** At most ten, in the letters that all registered names use. */
function authenticationsIn(listed: unknown): Pick<ProviderMetadata, 'clientAuthentications'> {
  if (!Array.isArray(listed)) return {};
  const names = listed.filter(name => typeof name === 'string' && /^[a-z_]{1,40}$/.test(name));
  return { clientAuthentications: names.slice(0, 10) };
}

/** With tenants, the document of one of them is accepted, and that for all: Entra ID writes `{tenantid}` there. */
function isIssuerOf(named: unknown, { issuer, tenants }: ProviderOptions): boolean {
  if (tenants === null || typeof named !== 'string') return named === issuer;
  return namesTenants(named, tenants);
}

/** The address to call: with a client certificate, that of a separate host if the provider has one (RFC 8705, 5). */
function calledEndpoint(
  name: string,
  members: ReadonlyMap<string, unknown>,
  options: ProviderOptions,
): unknown {
  const aliases = members.get('mtls_endpoint_aliases');
  if (options.tls.certificate !== null && typeof aliases === 'object' && aliases !== null) {
    const alias = new Map<string, unknown>(Object.entries(aliases)).get(name);
    if (alias !== undefined) return alias;
  }
  return members.get(name);
}

/**
 * An endpoint that only sign-out or introspection needs: an unusable address counts as absent and does not invalidate the
 * document.
 */
function optionalEndpoint(
  name: string,
  members: ReadonlyMap<string, unknown>,
  options: ProviderOptions,
): string | null {
  const value = calledEndpoint(name, members, options);
  return typeof value === 'string' && addressError(value, options.allowHttp) === undefined ? value : null;
}

function endpoint(name: string, value: unknown, options: ProviderOptions): string {
  if (typeof value !== 'string') throw unusable(`has no ${name}`);
  const error = addressError(value, options.allowHttp);
  if (error !== undefined) throw unusable(`has a ${name} that ${error}`);
  return value;
}

function unusable(what: string): ProviderFault {
  return new ProviderFault('nonsense', `the discovery document ${what}`);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 200);
}

/** Fetches and reads the discovery document. Rejects with a `ProviderFault`. */
async function discover(
  options: ProviderOptions,
  { clock, network }: Pick<System, 'clock' | 'network'>,
): Promise<ProviderMetadata> {
  const deadline = clock.signalAfter(options.timeoutMs);
  const body = await getDocument(discoveryAddress(options), options, deadline, network);
  return readMetadata(parse(body), options);
}

/**
 * The scopes that a provider announces in its discovery document (`scopes_supported`); `null` if it announces none, cannot be asked, or its
 * document is not used.
 */
export async function announcedScopes(
  options: ProviderOptions,
  { clock, network }: Pick<System, 'clock' | 'network'>,
): Promise<readonly string[] | null> {
  if (configuredMetadata(options) !== undefined) return null;
  try {
    const deadline = clock.signalAfter(options.timeoutMs);
    const scopes = jsonMembers(await getDocument(discoveryAddress(options), options, deadline, network))?.get(
      'scopes_supported',
    );
    return Array.isArray(scopes) ? scopes.filter(scope => typeof scope === 'string') : null;
  } catch {
    return null;
  }
}

function parse(body: Buffer): unknown {
  // A byte-order mark is not JSON, but some servers put one before their files (RFC 8259, 8.1).
  const document = jsonIn(body.toString('utf8').replace(/^\ufeff/, ''));
  if (document === undefined) throw new ProviderFault('nonsense', 'the discovery document is not JSON');
  return document;
}

/**
 * Why an address of the provider may not be used, or undefined: https is allowed anywhere, http on loopback, and http elsewhere
 * only if the operator allowed it.
 */
export function addressError(text: string, allowHttp: boolean): string | undefined {
  const url = URL.parse(text);
  if (url === null) return 'is not an absolute URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.hash !== '') return 'must not have a fragment';
  if (hasOddIpv4(text)) return `has an IPv4 address in an unusual form: write ${url.hostname}`;
  if (url.protocol === 'https:') return undefined;
  if (url.protocol !== 'http:') return 'must begin with https://';
  if (allowHttp || isLoopback(url.hostname)) return undefined;
  return 'is plain http and not on loopback: use https, or set allow_http: true';
}
