import { asciiJson, issuerOfTenant } from '../../core/index.ts';
import { EVERY_HOST, parseRoutePattern, type RouteEntry } from '../../gateway/routing/index.ts';
import { PROOF_ALGORITHMS } from '../../identity/auth/index.ts';
import type { ProviderOptions } from '../../identity/signin/index.ts';
import type { MetadataRoute } from '../model/index.ts';
import { pathOfResource, WELL_KNOWN } from '../settings/index.ts';

/** The content of a protected resource's metadata (RFC 9728, 2). */
export interface ResourceFacts {
  readonly resource: string;
  /** The issuers of accepted tokens, in the order of the file. */
  readonly issuers: readonly string[];
  readonly scopes: readonly string[];
  /** Whether clients can present a certificate that their token is bound to (RFC 8705). */
  readonly certificates: boolean;
  /** Whether tokens may be bound to a key (RFC 9449), or must be. */
  readonly dpop: 'off' | 'accepted' | 'required';
}

/** The routes of the document: at the path of RFC 9728, and at the well-known path alone, where some clients look. */
export function metadataRoutes(facts: ResourceFacts): readonly RouteEntry<MetadataRoute>[] {
  const document = asciiJson({
    resource: facts.resource,
    ...(facts.issuers.length === 0 ? {} : { authorization_servers: facts.issuers }),
    bearer_methods_supported: ['header'],
    ...(facts.scopes.length === 0 ? {} : { scopes_supported: facts.scopes }),
    ...(facts.certificates ? { tls_client_certificate_bound_access_tokens: true } : {}),
    ...(facts.dpop === 'off' ? {} : { dpop_signing_alg_values_supported: PROOF_ALGORITHMS }),
    ...(facts.dpop === 'required' ? { dpop_bound_access_tokens_required: true } : {}),
  });
  const paths = new Set([WELL_KNOWN, `${WELL_KNOWN}${pathOfResource(facts.resource)}`]);
  const how = { methods: ['GET', 'HEAD'], authentication: 'none' } as const;
  return [...paths].map(path => ownRoute(path, { kind: 'metadata' as const, document, ...how }));
}

/** The names of a provider for clients: of its listed tenants; none if any is accepted, since no document lists them all. */
export function issuersOf({
  issuer,
  tenants,
}: Pick<ProviderOptions, 'issuer' | 'tenants'>): readonly string[] {
  if (tenants === null) return [issuer];
  return (tenants.values ?? []).map(value => issuerOfTenant(tenants, value));
}

/** Makes one of the gateway's own routes: for every method, on every host. */
export function ownRoute<Route extends object>(path: string, route: Route) {
  const value = { id: path, semicolons: 'refuse' as const, parameters: [], ...route };
  return { pattern: parseRoutePattern(path, null, EVERY_HOST), value };
}
