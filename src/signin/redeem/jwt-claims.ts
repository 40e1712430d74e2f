/**
 * The claims of a JWT whose signature nobody has looked at, or an empty map where the token is none. Fit for a token that
 * came straight from the provider, and for nothing else.
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
