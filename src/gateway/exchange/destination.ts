import { hash } from 'node:crypto';
import type * as config from '../../config/index.ts';
import type { GatewayError, PoolModel } from '../../core/index.ts';
import type { CorsRules } from '../../http/index.ts';

/** Where a request leads, as the gate `findRoute` finds it; `kind` names the terminal that serves it. */
export type Destination =
  | Nowhere
  | Redirected
  | OptionsHere
  | PreflightHere
  | SignInHere
  | NoticeHere
  | MetadataHere
  | AnsweredHere
  | Forwarded;

/** No route was found, or the request was refused before the lookup. */
export type Nowhere = DestinationOf<'nowhere', null>;

/** A redirect to https. Only the host, path and query of the request matter. */
export type Redirected = DestinationOf<'redirect', null>;

/** An OPTIONS that goes no further: about the gateway itself (`*`, without a route), or with `Max-Forwards: 0`. */
export type OptionsHere = DestinationOf<'options', config.RouteModel | null>;

/** A browser's preflight that the gateway answers by these rules. */
export type PreflightHere = DestinationOf<'preflight', config.RouteModel, CorsRules>;

export type SignInHere = DestinationOf<'sign-in', config.SignInRoute>;

export type NoticeHere = DestinationOf<'notice', config.NoticeRoute>;

/** Where clients find out whose tokens are accepted. */
export type MetadataHere = DestinationOf<'metadata', config.MetadataRoute>;

/** An answer that the operator wrote. */
export type AnsweredHere = DestinationOf<'answer', config.AnswerRoute>;

export type Forwarded = DestinationOf<'forward', config.ForwardRoute, null, PoolModel>;

/** The part of a destination that does not depend on its kind. */
export interface DestinationTarget {
  /** Values of the path's parameters in order, as they stand in the canonical path. */
  readonly params: readonly string[];
  /** The path in its canonical form. */
  readonly path: string;
  /** The query with its `?`; empty without one. */
  readonly query: string;
  /** What the route requires of this request. It requires nothing of a preflight, which carries no token. */
  readonly authentication: config.RouteModel['authentication'];
  /** Whether this is a browser's preflight. It never counts as an invalid request, whether the gateway or a service answers it. */
  readonly isPreflight: boolean;
  /** Why the request may not go there, which the gate `findRoute` answers; `null` if it may. */
  readonly refusal: GatewayError | null;
}

/** A destination of one kind. */
export interface DestinationOf<
  Kind extends string,
  Route extends config.RouteModel | null,
  Cors extends CorsRules | null = null,
  Pool extends PoolModel | null = null,
> extends DestinationTarget {
  readonly kind: Kind;
  readonly route: Route;
  readonly cors: Cors;
  /** The pool that it takes a permit from, which is another one for WebSockets; `null` if no upstream serves it. */
  readonly pool: Pool;
}

/** The destination of every exchange until `findRoute` sets it. */
export const NOWHERE: Nowhere = {
  kind: 'nowhere',
  route: null,
  params: [],
  path: '',
  query: '',
  authentication: 'none',
  isPreflight: false,
  refusal: null,
  cors: null,
  pool: null,
};

/** Identifies a webhook without revealing its parameters, which are the credentials to call it. */
export function webhookOf(route: config.ForwardRoute, params: readonly string[]): string {
  return hash('sha256', `${route.id}\0${params.join('\0')}`, 'base64url');
}
