/**
 * The claims of a JWT without a check of its signature; an empty map if it is not a JWT. Use it only for tokens that come
 * straight from the provider.
 */
export function unverifiedClaims(token: string | undefined): ReadonlyMap<string, unknown> {
  const parts = (token ?? '').split('.', 4);
  if (parts.length !== 3) return new Map();
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'));
    return new Map(typeof claims === 'object' && claims !== null ? Object.entries(claims) : []);
  } catch {
    return new Map();
  }
}
