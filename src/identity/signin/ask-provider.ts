import type { ClientRequest, ClientRequestArgs, Agent as HttpAgent, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions, request as requestHttps } from 'node:https';
import type { Socket, TcpNetConnectOpts } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  GrowingBytes,
  isUnknownAuthority,
  jsonIn,
  type Network,
  nodeHttp,
  WeakMemo,
} from '../../core/index.ts';
import type { ProviderOptions, ProviderTls } from './options.ts';

interface ProviderRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, in ASCII; `null` for none. */
  readonly body: string | null;
  /** Aborts only when the time for the whole request is up. */
  readonly deadline: AbortSignal;
}

export interface ProviderResponse {
  readonly status: number;
  /** The media type in lower case, without parameters; '' if none was sent. */
  readonly mediaType: string;
  /** The nonce for the next proof (RFC 9449, 8); `null` if it sent none. */
  readonly dpopNonce: string | null;
  /** How long it asks to wait (`Retry-After`), at most five minutes; 0 if it names no seconds. */
  readonly retryAfterMs: number;
  /** Where a redirect points to, for the log; `null` for other responses. */
  readonly redirectsTo: URL | null;
  /** Decoded. */
  readonly body: Buffer;
}

/** A nonce that may be passed on (RFC 9449, 8.1). */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/;

/** Without `fatal`: bytes that are not UTF-8 become U+FFFD. */
const UTF8 = new TextDecoder();

/** The members of a JSON object; `undefined` if the text is something else. A later duplicate replaces an earlier one. */
export function jsonMembers(text: Buffer): ReadonlyMap<string, unknown> | undefined {
  const value = jsonIn(UTF8.decode(text));
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? new Map(Object.entries(value)) : undefined;
}

/** The options that one request needs. */
type ProviderLink = Pick<ProviderOptions, 'tls' | 'maxResponseBytes' | 'proxy' | 'timeoutMs'>;

/**
 * Sends one request to the provider on a new connection. Node's client neither retries nor follows redirects, and a new
 * connection cannot have been closed while idle, so a broken connection always concerns this request. Rejects with a
 * `ProviderFault`.
 */
export function askProvider(
  request: ProviderRequest,
  link: ProviderLink,
  network: Network,
): Promise<ProviderResponse> {
  return new Promise((resolve, reject) => {
    const secure = request.url.startsWith('https:');
    const outgoing = open(request, link, network, secure);
    let connected = false;
    let answered = false;
    const fail = (error: unknown) => reject(faultOf(error, connected, request));

    outgoing.once('socket', socket => {
      // Through a proxy, Node hands the socket over only when it is secure.
      connected = link.proxy !== null && !socket.connecting;
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        connected = true;
      });
    });
    // While a proxy connects, Node ignores the signal.
    if (link.proxy !== null)
      request.deadline.addEventListener('abort', () => fail(undefined), { once: true });
    // More errors may follow the first; without a listener they would end the process.
    outgoing.on('error', fail);
    outgoing.once('response', response => {
      answered = true;
      readResponse(response, request.url, link.maxResponseBytes).then(resolve, fail);
    });
    // After an unrequested 101 Node closes the connection without a response or an error.
    outgoing.once('close', () => {
      if (!answered) fail(undefined);
    });
    outgoing.end(request.body ?? undefined);
  });
}

function open(
  request: ProviderRequest,
  link: ProviderLink,
  network: Network,
  secure: boolean,
): ClientRequest {
  const options = {
    method: request.method,
    headers: {
      ...request.headers,
      // Ask for no compression: without this field any coding is acceptable (RFC 9110, 12.5.3).
      'accept-encoding': 'identity',
      ...(request.body === null ? undefined : { 'content-length': Buffer.byteLength(request.body) }),
    },
    signal: request.deadline,
  } as const;
  // A separate agent makes a new connection, and closes it after the response. Through a proxy it connects by itself.
  if (link.proxy !== null) {
    const proxied = { ...options, timeout: Math.ceil(link.timeoutMs) };
    if (!secure)
      return nodeHttp.request(request.url, {
        ...proxied,
        agent: new nodeHttp.Agent({ proxyEnv: link.proxy }),
      });
    const agent = new HttpsAgent({ proxyEnv: link.proxy });
    return requestHttps(request.url, {
      ...proxied,
      agent,
      secureContext: secureContextOf(link.tls),
    } as RequestOptions);
  }
  if (!secure)
    return nodeHttp.request(request.url, {
      ...options,
      agent: agentOf(new nodeHttp.Agent(), network.connect, network),
    });
  const agent = agentOf(new HttpsAgent(), network.secureConnect, network);
  // Node passes `secureContext` on to `secureConnect`, although its types do not say so.
  const secured = { ...options, agent, secureContext: secureContextOf(link.tls) };
  return requestHttps(request.url, secured);
}

/** Makes the agent connect with these options. Node passes more of them on than its types say. */
function agentOf<A extends HttpAgent>(
  agent: A,
  connect: (options: TcpNetConnectOpts) => Socket,
  { lookup }: Network,
): A {
  agent.createConnection = (options: ClientRequestArgs) =>
    connect({ ...options, lookup } as TcpNetConnectOpts);
  return agent;
}

async function readResponse(
  response: IncomingMessage,
  url: string,
  maxBytes: number,
): Promise<ProviderResponse> {
  const joined = new GrowingBytes(maxBytes);
  let body: Buffer = Buffer.alloc(0);
  // Leaving the loop early destroys the connection; a truncated response throws.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (body.length + chunk.length > maxBytes)
      throw new ProviderFault('too_large', `the provider's response exceeds ${maxBytes} bytes`);
    body = joined.join(body, chunk);
  }
  const [mediaType = ''] = (response.headers['content-type'] ?? '').split(';', 1);
  const nonce = response.headers['dpop-nonce'];
  return {
    status: response.statusCode ?? 0,
    mediaType: mediaType.trim().toLowerCase(),
    dpopNonce: typeof nonce === 'string' && NONCE.test(nonce) ? nonce : null,
    retryAfterMs: waitIn(response.headers['retry-after']),
    redirectsTo: targetOf(response, url),
    body: decoded(body, response.headers['content-encoding'], maxBytes),
  };
}

/** Longer waits are cut: a provider's mistake must not keep users out for a day. */
const MAX_WAIT_S = 300;

function waitIn(retryAfter: string | undefined): number {
  return /^\d{1,9}$/.test(retryAfter ?? '') ? Math.min(Number(retryAfter), MAX_WAIT_S) * 1_000 : 0;
}

/**
 * Undoes a content coding: some servers and caches use one although it was not requested (ccpgames/sso-issues#81). If the response
 * were refused, the client would lose the code that it redeemed.
 *
 * @param maxBytes of the decoded body
 * @throws ProviderFault if the coding is unknown, or the body is malformed or too long
 */
function decoded(body: Buffer, coding: string | undefined, maxBytes: number): Buffer {
  const name = coding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return body;
  const decode = DECODERS.get(name);
  if (decode === undefined)
    throw new ProviderFault(
      'nonsense',
      "the provider's response has a content coding that was not requested",
    );
  try {
    return decode(body, { maxOutputLength: maxBytes });
  } catch {
    throw new ProviderFault(
      'nonsense',
      `the provider's response is not ${name}, or exceeds ${maxBytes} bytes`,
    );
  }
}

const DECODERS: ReadonlyMap<string, (body: Buffer, options: { maxOutputLength: number }) => Buffer> = new Map(
  [
    ['gzip', gunzipSync],
    ['x-gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ],
);

function faultOf(error: unknown, connected: boolean, request: ProviderRequest): ProviderFault {
  if (error instanceof ProviderFault) return error;
  const where = new URL(request.url).origin;
  if (!connected) {
    const why = request.deadline.aborted ? 'no connection in time' : explained(errorCode(error));
    return new ProviderFault('unreachable', `cannot connect to ${where}: ${why}`);
  }
  if (request.deadline.aborted)
    return new ProviderFault('timed_out', `${where} did not finish its response in time`);
  const code = errorCode(error);
  return code.startsWith('HPE_')
    ? new ProviderFault('malformed', `${where} answered something that is not HTTP: ${code}`)
    : new ProviderFault('reset', `${where} closed the connection before its response was complete: ${code}`);
}

function explained(code: string): string {
  return isUnknownAuthority(code)
    ? `${code}: its certificate is from an authority that tls.ca_file of the provider has to name, or lacks one in between`
    : code;
}

/** Keeps only the code: other members of Node's errors may contain bytes of the response (`rawPacket`). */
function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'no code';
}

const FIRST_MS = 500;
const MAX_MS = 15_000;

/**
 * How long to wait after this many consecutive failures (from 1): 0.5 s doubled each time, at most 15 s, less up to a random
 * half, so that replicas that lost a provider together do not return to it together.
 *
 * @param random a number from 0 up to but not including 1
 */
export function retryDelayMs(failures: number, random: number): number {
  const full = Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS);
  return full - (full / 2) * random;
}

/** The time until the next refresh: the period less up to a random tenth, so that replicas do not refresh together. */
export function refreshDelayMs(periodMs: number, random: number): number {
  return periodMs - (periodMs / 10) * random;
}

/** Key sets have a type of their own (RFC 7517, 8.5.2): the API servers of Kubernetes answer 406 without it. */
const DOCUMENTS = 'application/json, application/jwk-set+json, */*;q=0.1';

/** Fetches a JSON document from the provider. Rejects with a `ProviderFault`, also on any status but 200. */
export async function getDocument(
  url: string,
  link: ProviderLink,
  deadline: AbortSignal,
  network: Network,
): Promise<Buffer> {
  const headers = { accept: DOCUMENTS, 'user-agent': 'weir' };
  const response = await askProvider({ method: 'GET', url, headers, body: null, deadline }, link, network);
  const { status, redirectsTo, retryAfterMs } = response;
  if (status !== 200) {
    // Without the query, which may hold a secret.
    const where = redirectsTo === null ? '' : pointingTo(`${redirectsTo.origin}${redirectsTo.pathname}`);
    throw new ProviderFault('refused', `${url} answered ${status}${where}`, { status, retryAfterMs });
  }
  return response.body;
}

/** Describes a redirect, to follow its status in a message. */
export function pointingTo(address: string): string {
  return ` and points to ${address.slice(0, 200)}, where the gateway does not follow`;
}

function targetOf({ statusCode = 0, headers: { location } }: IncomingMessage, from: string): URL | null {
  const isRedirect = statusCode >= 300 && statusCode < 400 && location !== undefined;
  return isRedirect ? URL.parse(location, from) : null;
}

/**
 * The keys and authorities for https with the provider. Made once for a configuration, because that blocks the process for a
 * millisecond, and for 37 ms with the usual bundle of authorities. Throws if a certificate or key cannot be read.
 */
export function secureContextOf(tls: ProviderTls): SecureContext {
  return contexts.of(tls);
}

const contexts = new WeakMemo(({ ca, certificate, key }: ProviderTls) =>
  createSecureContext({
    ...(ca !== null && { ca }),
    ...(certificate !== null && { cert: certificate }),
    ...(key !== null && { key }),
  }),
);

/**
 * What went wrong between the gateway and the provider.
 *
 * - `unreachable`: no connection (refused, unknown name, failed TLS handshake, or not in time)
 * - `timed_out`: connected, but the response was not complete in time
 * - `reset`: the connection broke before the response was complete
 * - `too_large`: the response is longer than allowed
 * - `malformed`: the response is not HTTP
 * - `refused`: the response is a refusal, by its status or its `error`
 * - `nonsense`: the response claims success but is unusable
 */
type FaultKind = 'unreachable' | 'timed_out' | 'reset' | 'too_large' | 'malformed' | 'refused' | 'nonsense';

/**
 * The provider's errors that the gateway knows: those of RFC 6749, 5.2, those intended for other endpoints (RFC 6749, 4.1.2.1;
 * RFC 6750, 3.1; RFC 7009, 2.2.1; RFC 8628; RFC 8707; RFC 9449; RFC 9470; OpenID Connect Core 1.0, 3.1.2.6), Google's own for a wrong
 * redirect URI, that of Ory Hydra for a refresh token which was used before, and that of Entra ID for an unknown resource.
 */
const OAUTH_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
  'invalid_resource',
  'server_error',
  'temporarily_unavailable',
  'slow_down',
  'interaction_required',
  'login_required',
  'consent_required',
  'account_selection_required',
  'unmet_authentication_requirements',
  'access_denied',
  'expired_token',
  'token_inactive',
  'redirect_uri_mismatch',
  'invalid_token',
  'unsupported_token_type',
  'use_dpop_nonce',
  'invalid_dpop_proof',
] as const;

export type OAuthError = (typeof OAUTH_ERRORS)[number] | 'unsupported' | 'another';

/** The provider's error if it is a known word; `unsupported` for others of that name (`unsupported_response_type`); else `another`. */
export function oauthError(word: string): OAuthError {
  const known = OAUTH_ERRORS.find(each => each === word);
  return known ?? (word.startsWith('unsupported_') ? 'unsupported' : 'another');
}

/**
 * A failed request to the provider, safe to log. Made only from what this room knows and never from library errors: those contain
 * responses, request bodies and (`SyntaxError`) the first characters of a token.
 */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly kind: FaultKind;
  /** The status of the provider's response, or `null`. */
  readonly status: number | null;
  /** The OAuth error in the provider's response, or `null`. */
  readonly error: OAuthError | null;
  /** The nonce that it asks for in proofs, or `null`. */
  readonly dpopNonce: string | null;
  /** How long the provider asks to wait; 0 if it does not. */
  readonly retryAfterMs: number;

  constructor(
    kind: FaultKind,
    message: string,
    response?: {
      readonly status: number;
      readonly error?: OAuthError;
      readonly dpopNonce?: string | null;
      readonly retryAfterMs?: number;
    },
  ) {
    // Skip the stack trace: these are expected, one for each refused code.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
    this.kind = kind;
    this.status = response?.status ?? null;
    this.error = response?.error ?? null;
    this.dpopNonce = response?.dpopNonce ?? null;
    this.retryAfterMs = response?.retryAfterMs ?? 0;
  }

  /**
   * How long the provider wants no further request; 0 if it merely fails: it may recover before the time that an error page in
   * front of it states.
   */
  get throttledForMs(): number {
    return this.status === 429 ? this.retryAfterMs : 0;
  }
}

/** Whether the provider said, with any status, that it knows no such valid token. */
export function saysInvalid(error: unknown): error is ProviderFault {
  return error instanceof ProviderFault && error.error === 'invalid_token';
}
