import { z } from 'zod';
import { asciiJson, issuerOfTenant, type Tenants } from '../../core/index.ts';
import { PROOF_ALGORITHMS } from '../../identity/auth/index.ts';
import type { MetadataRoute } from '../model/index.ts';
import type { RouteEntry } from '../routing/index.ts';
import { mapOf, ownPath } from '../values/index.ts';
import { identity } from './identity.ts';
import { ownRoute } from './own-routes.ts';
import { setting } from './setting.ts';
import { tenantsOf } from './tenants.ts';

const RESOURCE =
  'expected the address of this API as clients know it, such as https://api.example.com, without a query and a fragment';

export const protectedResource = setting({
  keys: {
    protected_resource: mapOf('{ resource: "https://api.example.com" }', {
      resource: z
        .string({ error: RESOURCE })
        .refine(isResource, { error: RESOURCE })
        .describe(
          'The identifier of this API: its address as clients know it. https, or http on this machine.',
        ),
    })
      .optional()
      .describe(
        'Tells clients whose tokens they need (RFC 9728): a document at /.well-known/oauth-protected-resource, which every 401 names. Left out: neither.',
      ),
  },
  compile: ({ protected_resource }) => ({
    /** The address of the document, as named in challenges; `null` if there is none. */
    resourceMetadata: protected_resource === undefined ? null : metadataUrlOf(protected_resource.resource),
  }),
  ownRoutes({ protected_resource: resource }, { written, requirements, certificateFields }) {
    if (resource === undefined) return [];
    const {
      identity_provider: one,
      identity_providers: several = [],
      access_tokens: tokens,
    } = written(identity);
    const providers = one === undefined ? several : [one];
    return metadataRoutes({
      ...resource,
      issuers: providers.flatMap(each => issuersOf(each.issuer, tenantsOf(each))),
      scopes: requirements.scopes,
      certificates: tokens?.certificate_field !== undefined || certificateFields.length > 0,
      dpop: tokens?.dpop?.mode ?? 'off',
    });
  },
});

/** Whether it is an address in its canonical spelling: clients compare it character by character (RFC 9728, 3.3). */
function isResource(written: string): boolean {
  if (!URL.canParse(written)) return false;
  const { href, protocol, hostname, username, password, pathname, search, hash } = new URL(written);
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  const isSecure = protocol === 'https:' || (protocol === 'http:' && isHere);
  const isUsual = href === written || href === `${written}/`;
  const hasMore = [username, password, search, hash].some(part => part !== '');
  return isSecure && isUsual && !hasMore && ownPath().safeParse(pathname).success;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Where clients find the document: the well-known path goes before the path of the resource (RFC 9728, 3.1). */
function metadataUrlOf(resource: string): string {
  return `${new URL(resource).origin}${WELL_KNOWN}${pathOfResource(resource)}`;
}

/** The path of a resource without its trailing slash; empty for the root. */
function pathOfResource(resource: string): string {
  return new URL(resource).pathname.replace(/\/$/, '');
}

/** The content of a protected resource's metadata (RFC 9728, 2). */
interface ResourceFacts {
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
function issuersOf(issuer: string, tenants: Tenants | null): readonly string[] {
  if (tenants === null) return [issuer];
  return (tenants.values ?? []).map(value => issuerOfTenant(tenants, value));
}
