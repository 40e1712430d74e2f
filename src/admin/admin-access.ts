import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import {
  type AdminApiListener,
  type AdminRefusal,
  type Clock,
  GatewayError,
  RpcCode,
  wholeSeconds,
} from '../core/index.ts';
import { addressKey, normalizeAddress } from '../http/index.ts';
import { defineLimit, type LimitSet, MemoryStore, NO_LIMITS } from '../limits/index.ts';

/** What a request may do; `error`: the response to one that may not. */
export type Access =
  | { readonly kind: 'granted' }
  | { readonly kind: 'refused'; readonly why: AdminRefusal; readonly error: GatewayError };

export interface AdminAccessDependencies {
  readonly clock: Clock;
  readonly listener: AdminApiListener;
}

const GRANTED: Access = { kind: 'granted' };

/**
 * Says who may use the admin listener for more than metrics and health. Changes need the token. So does what shows callers, unless
 * the listener is bound to loopback. Pages of other origins may do neither, and read nothing at all on loopback.
 */
export class AdminAccess {
  readonly #failed: FailedTokens;
  readonly #listener: AdminApiListener;
  #tokenHash: Buffer | null = null;
  #onLoopback = false;

  constructor({ clock, listener }: AdminAccessDependencies) {
    this.#failed = new FailedTokens(clock);
    this.#listener = listener;
  }

  /** Sets the SHA-256 of the token; null if no token is configured. */
  use(tokenHash: Buffer | null): void {
    this.#tokenHash = tokenHash;
  }

  /** Sets the address that the listener is bound to. */
  bound(address: string): void {
    this.#onLoopback = isLoopback(address);
  }

  /** Whether a response that is open to everyone may name callers too. Asking for it without a token is no offence. */
  mayShowCallers(request: AdminRequest): boolean {
    if (request.headers.authorization !== undefined) return this.toRead(request).kind === 'granted';
    return this.#onLoopback && namesLoopback(request) && !isOfForeignPage(request);
  }

  /** For what is open to everyone who reaches the listener. On loopback, no page may read it by a name of its own. */
  toOpen(request: AdminRequest): Access {
    if (!this.#onLoopback || !mayBeNameOfPage(request)) return GRANTED;
    if (request.headers.authorization !== undefined) return this.toRead(request);
    return this.#refuse(request, 'foreign_origin', foreignHost());
  }

  /** For what shows callers or the configuration and changes nothing. */
  toRead(request: AdminRequest): Access {
    if (isOfForeignPage(request)) return this.#refuse(request, 'foreign_origin', foreignPage());
    if (request.headers.authorization !== undefined || !this.#onLoopback) return this.#judgeToken(request);
    return namesLoopback(request) ? GRANTED : this.#refuse(request, 'foreign_origin', foreignHost());
  }

  toChange(request: AdminRequest): Access {
    if (isOfForeignPage(request)) return this.#refuse(request, 'foreign_origin', foreignPage());
    return this.#judgeToken(request);
  }

  #judgeToken(request: AdminRequest): Access {
    if (this.#tokenHash === null) return this.#refuse(request, 'no_token', noTokenConfigured());
    const { authorization } = request.headers;
    if (authorization === undefined) return this.#refuse(request, 'no_token', tokenNeeded());
    const address = addressKey(peerOf(request));
    const waitMs = this.#failed.waitMs(address);
    if (waitMs > 0) return this.#refuse(request, 'too_many_tokens', tooManyTokens(waitMs));
    if (isToken(authorization, this.#tokenHash)) return GRANTED;
    this.#failed.note(address);
    return this.#refuse(request, 'wrong_token', wrongToken());
  }

  #refuse(request: AdminRequest, why: AdminRefusal, error: GatewayError): Access {
    this.#listener.refused(why, peerOf(request));
    return { kind: 'refused', why, error };
  }
}

/** The address of the other side; '' once the connection is gone. */
export function peerOf({ socket }: AdminRequest): string {
  return normalizeAddress(socket.remoteAddress ?? '') ?? '';
}

/** Compares hashes, which are equally long and tell nothing about the token by the time that takes. */
function isToken(authorization: string, tokenHash: Buffer): boolean {
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
  return timingSafeEqual(createHash('sha256').update(token).digest(), tokenHash);
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether only this machine reaches an address (RFC 6890, 2.2.2 and 2.2.3). */
function isLoopback(address: string): boolean {
  if (isIPv4(address)) return LOOPBACK.check(address);
  return isIPv6(address) && LOOPBACK.check(address, 'ipv6');
}

/** The part of a request that says who sent it. */
export interface AdminRequest {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/**
 * Whether a browser sends this for a page of another origin. Browsers name that in `Sec-Fetch-Site`; older ones send `Origin`
 * with everything but GET and HEAD. Neither can be set by a page (Fetch Standard, "forbidden request-header").
 */
function isOfForeignPage({ headers }: AdminRequest): boolean {
  const site = headers['sec-fetch-site'];
  // "none": the person typed the address.
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin } = headers;
  return origin !== undefined && origin !== `http://${headers.host}` && origin !== `https://${headers.host}`;
}

/**
 * Whether `Host` names this machine itself. Another name may be a page's own that leads to 127.0.0.1 (DNS rebinding): to a
 * browser, the page and this listener are one origin then.
 */
function namesLoopback({ headers: { host = '' } }: AdminRequest): boolean {
  const name = hostName(host);
  return isLocalhost(name) || isLoopback(name);
}

/**
 * Whether `Host` is a name that may be a page's own. A page can lead no address elsewhere, and a browser always sends `Host`; proxies
 * on this machine may send the address that they were asked at, and simple health checks nothing.
 */
function mayBeNameOfPage({ headers: { host } }: AdminRequest): boolean {
  if (host === undefined) return false;
  const name = hostName(host);
  return !isLocalhost(name) && isIP(name) === 0;
}

/** The name or address in a `Host`, without brackets and port; '' if it is none. */
function hostName(host: string): string {
  const name = /^(\[[0-9A-Fa-f:.]+\]|[^:]+)(?::\d{1,5})?$/.exec(host)?.[1] ?? '';
  return name.replace(/^\[|\]$/g, '');
}

function isLocalhost(name: string): boolean {
  return name.toLowerCase() === 'localhost';
}

const CHALLENGE = ['WWW-Authenticate', 'Bearer'] as const;

function tokenNeeded(): GatewayError {
  return new GatewayError({
    status: 401,
    rpcCode: RpcCode.unauthenticated,
    side: 'client',
    message: 'Send the token of listen.admin.token_file as "Authorization: Bearer TOKEN".',
    fields: CHALLENGE,
  });
}

function wrongToken(): GatewayError {
  return new GatewayError({
    status: 401,
    rpcCode: RpcCode.unauthenticated,
    side: 'client',
    message: 'The token is not that of listen.admin.token_file.',
    fields: CHALLENGE,
  });
}

function tooManyTokens(waitMs: number): GatewayError {
  return new GatewayError({
    status: 429,
    rpcCode: RpcCode.resourceExhausted,
    side: 'client',
    message: 'Your address sent too many wrong tokens. Wait before you try another one.',
    fields: ['Retry-After', String(wholeSeconds(waitMs))],
  });
}

function noTokenConfigured(): GatewayError {
  return new GatewayError({
    status: 403,
    rpcCode: RpcCode.permissionDenied,
    side: 'client',
    message: 'This needs a token, and none is configured: name a file with one in listen.admin.token_file.',
  });
}

function foreignPage(): GatewayError {
  return new GatewayError({
    status: 403,
    rpcCode: RpcCode.permissionDenied,
    side: 'client',
    message: 'A page of another origin may not use this.',
  });
}

function foreignHost(): GatewayError {
  return new GatewayError({
    status: 403,
    rpcCode: RpcCode.permissionDenied,
    side: 'client',
    message: 'Without a token, use localhost, 127.0.0.1 or [::1] in the URL.',
  });
}

/** A person who copies a token wrongly needs a few attempts; guessing one of 32 characters takes more than there are. */
const PER_ADDRESS: LimitSet = {
  ...NO_LIMITS,
  caller: defineLimit({
    role: 'caller',
    bucket: '',
    main: null,
    algorithm: 'window',
    quota: { units: 10, periodMs: 60_000 },
  }),
};
/** Addresses remembered at once. */
const MAX_ADDRESSES = 1_000;

/** Counts wrong tokens by the address that sent them. Bounded; an address without room is not counted. */
class FailedTokens {
  readonly #store: MemoryStore;

  constructor(clock: Clock) {
    this.#store = new MemoryStore({ clock, maxKeys: MAX_ADDRESSES });
  }

  /** Milliseconds until the address may try a token again; 0: now. */
  waitMs(address: string): number {
    return this.#store.peek(PER_ADDRESS, address, '').retryAfterMs;
  }

  note(address: string): void {
    this.#store.decide(PER_ADDRESS, address, '');
  }
}
