import { hash } from 'node:crypto';
import type { ForwardRoute, NoticeRoute, PoolModel, RouteModel, SignInRoute } from '../../config/index.ts';
import type { CorsRules } from '../../http/index.ts';

/** Where a request leads, as the gate `findRoute` finds it; `kind` names the terminal that serves it. */
export type Destination =
  | Nowhere
  | Redirected
  | OptionsHere
  | PreflightHere
  | SignInHere
  | NoticeHere
  | Forwarded;

/** No route was found, or the request was refused before the lookup. */
export type Nowhere = At<'nowhere', null>;

/** A redirect to https. Only the host, path and query of the request matter. */
export type Redirected = At<'redirect', null>;

/** An OPTIONS that goes no further: about the gateway itself (`*`, without a route), or with `Max-Forwards: 0`. */
export type OptionsHere = At<'options', RouteModel | null>;

/** A browser's preflight that the gateway answers by these rules. */
export type PreflightHere = At<'preflight', RouteModel, CorsRules>;

export type SignInHere = At<'sign-in', SignInRoute>;

export type NoticeHere = At<'notice', NoticeRoute>;

export type Forwarded = At<'forward', ForwardRoute, null, PoolModel>;

/** The part of a destination that does not depend on its kind. */
interface Place {
  /** Values of the path's parameters in order, as they stand in the canonical path. */
  readonly params: readonly string[];
  /** Canonical. */
  readonly path: string;
  /** With its `?`; empty without a query. */
  readonly query: string;
  /** What the route requires of this request: nothing of a preflight, which carries no token. */
  readonly authentication: RouteModel['authentication'];
  /** Whether this is a browser's preflight. It never counts as an invalid request, whether the gateway or a service answers it. */
  readonly isPreflight: boolean;
}

interface At<
  Kind extends string,
  Route extends RouteModel | null,
  Cors extends CorsRules | null = null,
  Pool extends PoolModel | null = null,
> extends Place {
  readonly kind: Kind;
  readonly route: Route;
  readonly cors: Cors;
  /** The pool that it takes a permit from; null: no upstream serves it. */
  readonly pool: Pool;
}

/** Makes a destination by a route. All kinds have the same members in the same order, which keeps access to them fast. */
export function makeDestination<
  Kind extends string,
  Route extends RouteModel,
  Cors extends CorsRules | null,
  Pool extends PoolModel | null,
>(
  kind: Kind,
  { params, path, query, authentication, isPreflight }: Place,
  route: Route,
  cors: Cors,
  pool: Pool,
): At<Kind, Route, Cors, Pool> {
  return { kind, route, params, path, query, authentication, isPreflight, cors, pool };
}

export const NOWHERE: Nowhere = {
  kind: 'nowhere',
  route: null,
  params: [],
  path: '',
  query: '',
  authentication: 'none',
  isPreflight: false,
  cors: null,
  pool: null,
};

/** Identifies a webhook without revealing its parameters, which are the credentials to call it. */
export function webhookOf(route: ForwardRoute, params: readonly string[]): string {
  return hash('sha256', `${route.id}\0${params.join('\0')}`, 'base64url');
}
