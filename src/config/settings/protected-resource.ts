import { z } from 'zod';
import { mapOf, ownPath } from '../values/index.ts';
import { setting } from './setting.ts';

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

export const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Where clients find the document: the well-known path goes before the path of the resource (RFC 9728, 3.1). */
function metadataUrlOf(resource: string): string {
  return `${new URL(resource).origin}${WELL_KNOWN}${pathOfResource(resource)}`;
}

/** The path of a resource without its trailing slash; empty for the root. */
export function pathOfResource(resource: string): string {
  return new URL(resource).pathname.replace(/\/$/, '');
}
