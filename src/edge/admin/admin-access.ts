import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import type { AdminApiListener, AdminRefusal, Clock, Fields, RandomBytes } from '../../core/index.ts';
import { GatewayError, retryAfterField } from '../../core/index.ts';
import { defineLimit, type LimitSet, MemoryStore, NO_LIMITS } from '../../limits/index.ts';
import { addressKey, isLoopback, normalizeAddress } from '../../wire/http/index.ts';

/** `null` if a request is allowed; else its response. */
type Access = GatewayError | null;

export interface AdminAccessDependencies {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly listener: AdminApiListener;
}

/**
 * Decides who may do more on the admin listener than read metrics and health. Changes always need the token. Pages and operations
 * that show callers need it too, unless the listener is bound to loopback. Web pages of other origins may do neither, and on
 * loopback they may read nothing at all.
 */
export class AdminAccess {
  /** Counts wrong tokens by the address that sent them. Bounded; an address without room is not counted. */
  readonly #failed: MemoryStore;
  readonly #listener: AdminApiListener;
  #tokenHash: Buffer | null = null;
  #onLoopback = false;

  constructor({ clock, randomBytes, listener }: AdminAccessDependencies) {
    this.#failed = new MemoryStore({ clock, randomBytes, maxKeys: MAX_ADDRESSES, maxKeyspaces: 2 });
    this.#listener = listener;
  }

  /** Sets the SHA-256 of the token; null if no token is configured. */
  use(tokenHash: Buffer | null): void {
    this.#tokenHash = tokenHash;
  }

  bound(address: string): void {
    this.#onLoopback = isLoopback(address);
  }

  /**
   * Returns whether an open response may show callers to this client. A request without a token does not count as a failed one.
   */
  mayShowCallers(request: AdminRequest): boolean {
    if (request.headers.authorization !== undefined) return this.toRead(request) === null;
    return this.#onLoopback && namesLoopback(request) && !isOfForeignPage(request);
  }

  /** Access to open responses. On loopback, refuses a web page that reaches the listener by a host name of its own (DNS rebinding). */
  toOpen(request: AdminRequest): Access {
    if (!this.#onLoopback || !mayBeNameOfPage(request)) return null;
    if (request.headers.authorization !== undefined) return this.toRead(request);
    return this.#refuse(request, 'foreign_origin', 403, FOREIGN_HOST);
  }

  /** Access to responses that show callers or the configuration, and change nothing. */
  toRead(request: AdminRequest): Access {
    if (isOfForeignPage(request)) return this.#refuse(request, 'foreign_origin', 403, FOREIGN_PAGE);
    if (request.headers.authorization !== undefined || !this.#onLoopback) return this.#judgeToken(request);
    return namesLoopback(request) ? null : this.#refuse(request, 'foreign_origin', 403, FOREIGN_HOST);
  }

  toChange(request: AdminRequest): Access {
    if (isOfForeignPage(request)) return this.#refuse(request, 'foreign_origin', 403, FOREIGN_PAGE);
    return this.#judgeToken(request);
  }

  #judgeToken(request: AdminRequest): Access {
    if (this.#tokenHash === null) return this.#refuse(request, 'no_token', 403, NONE_CONFIGURED);
    const { authorization } = request.headers;
    if (authorization === undefined) return this.#refuse(request, 'no_token', 401, TOKEN_NEEDED, CHALLENGE);
    const address = addressKey(peerOf(request));
    const waitMs = this.#failed.peek(PER_ADDRESS, address, '').retryAfterMs;
    if (waitMs > 0)
      return this.#refuse(request, 'too_many_tokens', 429, TOO_MANY_TOKENS, retryAfterField(waitMs));
    if (isToken(authorization, this.#tokenHash)) return null;
    this.#failed.decide(PER_ADDRESS, address, '');
    return this.#refuse(request, 'wrong_token', 401, WRONG_TOKEN, CHALLENGE);
  }

  #refuse(
    request: AdminRequest,
    why: AdminRefusal,
    status: number,
    message: string,
    fields: Fields = [],
  ): GatewayError {
    this.#listener.refused(why, peerOf(request));
    return new GatewayError({ status, message, fields });
  }
}

/** The address of the peer; '' once the connection is gone. */
export function peerOf({ socket }: AdminRequest): string {
  return normalizeAddress(socket.remoteAddress ?? '') ?? '';
}

/** Compares hashes in constant time: they have equal length, so the time reveals nothing about the token. */
function isToken(authorization: string, tokenHash: Buffer): boolean {
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
  return timingSafeEqual(createHash('sha256').update(token).digest(), tokenHash);
}

export interface AdminRequest {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/**
 * Returns whether a browser sent the request for a page of another origin. Browsers say so in `Sec-Fetch-Site`; older ones send
 * `Origin` with all methods except GET and HEAD. A page can set neither (Fetch Standard, "forbidden request-header").
 */
function isOfForeignPage({ headers }: AdminRequest): boolean {
  const site = headers['sec-fetch-site'];
  // "none": a person typed the address.
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin } = headers;
  return origin !== undefined && origin !== `http://${headers.host}` && origin !== `https://${headers.host}`;
}

/**
 * Returns whether `Host` names this machine. Any other name may belong to a web page that makes it resolve to 127.0.0.1 (DNS
 * rebinding): for the browser, page and listener then have the same origin.
 */
function namesLoopback({ headers: { host = '' } }: AdminRequest): boolean {
  return isLoopback(hostName(host));
}

/**
 * Returns whether `Host` is a name that a web page may control. Addresses are safe: a page cannot redirect one. So is a request
 * without `Host`, which browsers always send and simple health checks do not. Local proxies may send another address.
 */
function mayBeNameOfPage({ headers: { host } }: AdminRequest): boolean {
  if (host === undefined) return false;
  const name = hostName(host);
  return !isLoopback(name) && isIP(name) === 0;
}

/** The name or address in a `Host`, without brackets and port; '' if the value is not a host. */
function hostName(host: string): string {
  const name = /^(\[[0-9A-Fa-f:.]+\]|[^:]+)(?::\d{1,5})?$/.exec(host)?.[1] ?? '';
  return name.replace(/^\[|\]$/g, '');
}

const CHALLENGE = ['WWW-Authenticate', 'Bearer'] as const;

const TOKEN_NEEDED = 'Send the token of listen.admin.token_file as "Authorization: Bearer TOKEN".';
const WRONG_TOKEN = 'The token is not that of listen.admin.token_file.';
const TOO_MANY_TOKENS = 'Your address sent too many wrong tokens. Wait before you try another one.';
const NONE_CONFIGURED =
  'This needs a token, and none is configured: name a file with one in listen.admin.token_file.';
const FOREIGN_PAGE = 'A page of another origin may not use this.';
const FOREIGN_HOST = 'Without a token, use localhost, 127.0.0.1 or [::1] in the URL.';

/** Allows a person who mistypes the token a few attempts. Guessing a token of 32 characters stays hopeless. */
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
/** Addresses remembered at the same time. */
const MAX_ADDRESSES = 1_000;
