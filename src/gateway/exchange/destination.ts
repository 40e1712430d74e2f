import { hash } from 'node:crypto';
import type * as config from '../../config/index.ts';
import type { GatewayError, PoolModel } from '../../core/index.ts';
import type { CorsRules } from '../../wire/http/index.ts';

/** Where a request goes, as decided by the gate `findRoute`; `kind` names the terminal that serves it. */
export type Destination =
  /** No route was found, or the request was refused before the lookup. */
  | DestinationOf<'nowhere', null>
  /** A redirect to https. Only the host, path and query of the request matter. */
  | DestinationOf<'redirect', null>
  /** An OPTIONS request that is not forwarded: about the gateway itself (`*`, without a route), or with `Max-Forwards: 0`. */
  | DestinationOf<'options', config.RouteModel | null>
  /** A browser's preflight, which the gateway answers by these rules. */
  | DestinationOf<'preflight', config.RouteModel, CorsRules>
  | DestinationOf<'sign-in', config.SignInRoute>
  | DestinationOf<'notice', config.NoticeRoute>
  /** The metadata that says whose tokens are accepted (RFC 9728). */
  | DestinationOf<'metadata', config.MetadataRoute>
  /** A fixed answer from the configuration. */
  | DestinationOf<'answer', config.AnswerRoute>
  /** A redirect to the same path with the slash that its route requires at the end, or without one. */
  | DestinationOf<'slash', config.RouteOfFile>
  | DestinationOf<'forward', config.ForwardRoute, null, PoolModel>;

export type To<Kind extends Destination['kind']> = Extract<Destination, { readonly kind: Kind }>;

/** The part of a destination that does not depend on its kind. */
export interface DestinationTarget {
  /** Values of the path's parameters in order, as they appear in the canonical path. */
  readonly params: readonly string[];
  /** The path in its canonical form. */
  readonly path: string;
  /** The path that a service gets before `strip_prefix`: `path`, with the empty segments as received if the route passes them. */
  readonly sent: string;
  /** The query including its `?`; empty if there is none. */
  readonly query: string;
  /** What the route requires of this request. Nothing for a preflight, which carries no token. */
  readonly authentication: config.RouteModel['authentication'];
  /** True for a browser's preflight. It never counts as an invalid request, whether the gateway or a service answers it. */
  readonly isPreflight: boolean;
  /** The error to answer with if the request may not go there; `null` if it may. */
  readonly refusal: GatewayError | null;
}

export interface DestinationOf<
  Kind extends string,
  Route extends config.RouteModel | null,
  Cors extends CorsRules | null = null,
  Pool extends PoolModel | null = null,
> extends DestinationTarget {
  readonly kind: Kind;
  readonly route: Route;
  readonly cors: Cors;
  /** The pool that the permit comes from; WebSockets have their own. `null` if no upstream serves the destination. */
  readonly pool: Pool;
}

/** The destination of every exchange until `findRoute` sets it. */
export const NOWHERE: To<'nowhere'> = {
  kind: 'nowhere',
  route: null,
  params: [],
  path: '',
  sent: '',
  query: '',
  authentication: 'none',
  isPreflight: false,
  refusal: null,
  cors: null,
  pool: null,
};

/** Identifies a webhook without revealing its parameters, which are its credentials. */
export function webhookOf(route: config.ForwardRoute, params: readonly string[]): string {
  return hash('sha256', `${route.id}\0${params.join('\0')}`, 'base64url');
}
