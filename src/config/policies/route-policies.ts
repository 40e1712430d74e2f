import type { Difference } from '../difference.ts';
import { isAnswered } from './answers.ts';
import { authentication } from './authentication.ts';
import { body } from './body.ts';
import { routeCors } from './cors.ts';
import { applyingOf } from './fact.ts';
import { requestHeaders, responseHeaders } from './headers.ts';
import { keysOf, type ModelsOf, type PolicyConfig } from './keys.ts';
import { routeNetworks } from './networks.ts';
import { oddPaths } from './odd-paths.ts';
import type { DefaultedRoute, ExplainedSection, PolicyContext, RouteInFile } from './policy.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';
import { reading } from './reading.ts';
import { requires } from './require.ts';
import { rewriteLocation, stripPrefix } from './service-path.ts';
import { expect, globalLimit, semicolons, upstream429, webhook } from './switches.ts';
import { routeTimeouts } from './timeouts.ts';
import { tokenFrom } from './token-from.ts';
import { trailingSlash } from './trailing-slash.ts';
import type { UpstreamModel } from './upstream-settings.ts';
import { websocket } from './websocket.ts';

// Everything about the policies of routes derives from this list: their schema and model, which keys are errors next to `grpc`,
// and the output of `weir explain` and `weir diff`.

/** Every policy, in the order of the keys in the JSON Schema and in the effective configuration. */
const POLICIES = [
  authentication,
  tokenFrom,
  requires,
  routeNetworks,
  stripPrefix,
  rewriteLocation,
  semicolons,
  oddPaths,
  trailingSlash,
  webhook,
  websocket,
  globalLimit,
  upstream429,
  rateLimitHeaders,
  routeCors,
  body,
  expect,
  reading,
  routeTimeouts,
  requestHeaders,
  responseHeaders,
] as const;

/** The order in `weir explain` and `weir diff`, where it matters to readers; policies not named here follow. */
const EXPLAINED = beginningWith([
  authentication,
  tokenFrom,
  requires,
  routeNetworks,
  stripPrefix,
  rewriteLocation,
  body,
  reading,
  semicolons,
  oddPaths,
  upstream429,
  routeTimeouts,
]);
const COMPARED = beginningWith([
  authentication,
  tokenFrom,
  requires,
  routeNetworks,
  globalLimit,
  webhook,
  semicolons,
  oddPaths,
  websocket,
  body,
  reading,
  routeTimeouts,
  routeCors,
]);

type Policy = (typeof POLICIES)[number];

function beginningWith(first: readonly Policy[]): readonly Policy[] {
  return [...first, ...POLICIES.filter(policy => !first.includes(policy))];
}

export const policyKeys = keysOf(POLICIES);

export type PolicyModels = ModelsOf<Policy>;

/**
 * The keys of policies that do not apply to gRPC calls, in the order of the schema; the other lists likewise: see `RoutePolicy`.
 */
export const PATH_ONLY = allOf('pathOnly');
export const FORWARD_ONLY = allOf('forwardOnly');
export const OWN_KEYS: ReadonlySet<string> = new Set(allOf('own'));

function allOf(list: 'pathOnly' | 'forwardOnly' | 'own'): readonly string[] {
  return POLICIES.flatMap((policy: Policy): readonly string[] => policy[list] ?? []);
}

const RULED_OUT: Readonly<Record<string, (given: DefaultedRoute) => boolean>> = Object.assign(
  {},
  ...POLICIES.map(({ ruledOut }: Policy) => ruledOut),
);

/** Whether a route may have a key of `defaults`: its kind has such a key, and none of its own keys rules it out. */
export function takesDefault(key: string, given: DefaultedRoute): boolean {
  const { route } = given;
  if (route.grpc === undefined ? key === 'grpc_web' : PATH_ONLY.includes(key)) return false;
  if (isAnswered(route) && FORWARD_ONLY.includes(key)) return false;
  return RULED_OUT[key]?.(given) !== true;
}

export function compilePolicies(
  config: PolicyConfig<typeof policyKeys>,
  serves: 'paths' | 'calls',
  context: PolicyContext,
): PolicyModels {
  const parts = POLICIES.map((policy: Policy) =>
    serves === 'calls' && policy.compileCall !== undefined
      ? policy.compileCall(config)
      : policy.compile(config, context),
  );
  const models: PolicyModels = Object.assign({}, ...parts);
  // A requirement needs a token, so `optional` is equivalent to `required`.
  return models.requirement === null ? models : { ...models, authentication: 'required' };
}

/** Reports policies that conflict with each other, or with the upstream of their route. */
export function checkPolicies(route: RouteInFile): void {
  for (const policy of POLICIES) policy.check?.(route);
}

type PoliciesInUse = PolicyModels & { readonly upstream: UpstreamModel | null };

/** Describes the policies in one section of the output of `weir explain` about a route. */
export function describePolicies(route: PoliciesInUse, serves: 'paths' | 'calls', section: ExplainedSection) {
  const described = EXPLAINED.filter(policy => (policy.section ?? 'request') === section)
    .filter(policy => route.upstream !== null || !isForwardOnly(policy))
    .filter(({ keys, pathOnly = [] }) => serves === 'paths' || pathOnly.length < Object.keys(keys).length);
  return applyingOf(described.map(policy => policy.describe?.(route)));
}

/**
 * Returns what changed policies mean to callers.
 *
 * @param areServed whether upstreams serve the requests, now and before
 */
export function comparePolicies(now: PolicyModels, before: PolicyModels, areServed: boolean): Difference[] {
  return COMPARED.filter(policy => areServed || !isForwardOnly(policy))
    .flatMap(policy => policy.compare(now, before))
    .filter(difference => difference !== null);
}

function isForwardOnly({ keys, forwardOnly = [] }: Policy): boolean {
  return forwardOnly.length === Object.keys(keys).length;
}
