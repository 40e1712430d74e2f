import type { NoticeKind } from '../../core/index.ts';
import type { BodyTerms } from '../../http1/index.ts';
import type { PoolModel, UpstreamModel } from './upstream-model.ts';

/** A match rule with its policies: from gateway.yaml, or one of the gateway's own. */
export type RouteModel = ForwardRoute | OwnRoute;

/** A match rule of the gateway's own. Takes every method, and answers 405 to most. */
export type OwnRoute = SignInRoute | NoticeRoute;

/** A match rule of gateway.yaml. */
export interface ForwardRoute {
  readonly kind: 'forward';
  /** As the operator wrote it, `GET,HEAD /v1/things/{id}`, `/v1/**` or `GRPC package.Service/*`: the name in metrics and logs. */
  readonly id: string;
  readonly upstream: UpstreamModel;
  /** The pool of its upstream that its exchanges take their permits from. */
  readonly pool: PoolModel;
  /**
   * - `required`: 401 without a valid token
   * - `optional`: without a valid token the caller is an address, and the header is removed
   * - `none`: the header is ignored and passed on unchanged
   */
  readonly authentication: 'required' | 'optional' | 'none';
  /** Whether an exchange is cut off when its token expires. */
  readonly closeAtExpiry: boolean;
  /** How old the provider's answer about its tokens may be; null: the provider is not asked. */
  readonly introspectionMs: number | null;
  /** Whether the global limit does not apply to it. */
  readonly globalLimitExempt: boolean;
  /** Whether its 404s are counted for each address and webhook. */
  readonly webhook: boolean;
  /** How an upstream's 429 is handled if it does not follow the contract. */
  readonly upstream429: 'rewrite' | 'pass';
  /** Whether the gateway answers preflights and writes the CORS fields; otherwise its upstream does. */
  readonly cors: boolean;
  /** Whether a path with `;` or `%3b` passes. */
  readonly semicolons: 'refuse' | 'pass';
  /** From the last byte of a request to the first of its response; null: any time. */
  readonly firstByteTimeoutMs: number | null;
  /** Between two bytes of a response's body; null: any time. */
  readonly idleTimeoutMs: number | null;
  /** Null: it serves none. */
  readonly websocket: WebSocketModel | null;
  /** The terms for its request bodies. */
  readonly body: BodyTerms;
  /** Names of the path's parameters, in order. */
  readonly parameters: readonly string[];
}

/** What holds for the WebSockets of a route. */
export interface WebSocketModel {
  /** In place of the one that its requests take their permits from. */
  readonly pool: PoolModel;
  /** A WebSocket is closed after this time without a byte in either direction. */
  readonly idleMs: number;
}

/** The first two are always there, the others where the configuration puts them. */
export type SignInEndpoint = 'authorize-url' | 'auth' | 'refresh' | 'sign-out';

/** One of the sign-in endpoints (docs/contract.md, 1). */
export interface SignInRoute {
  readonly kind: 'sign-in';
  /** Its path: the name in metrics and logs. */
  readonly id: string;
  readonly endpoint: SignInEndpoint;
  /** The methods that do not get a 405. */
  readonly methods: readonly string[];
  /** Only to sign out takes a token. */
  readonly authentication: 'none' | 'required';
  readonly semicolons: 'refuse';
  readonly parameters: readonly string[];
}

/** Where a provider tells the gateway something, on a public path. */
export interface NoticeRoute {
  readonly kind: 'notice';
  /** Its path: the name in metrics and logs. */
  readonly id: string;
  readonly notice: NoticeKind;
  /** The methods that do not get a 405. */
  readonly methods: readonly string[];
  readonly authentication: 'none';
  readonly semicolons: 'refuse';
  readonly parameters: readonly string[];
}
