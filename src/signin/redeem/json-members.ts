/** The members of a JSON object; undefined: it is not one. */
export function jsonMembers(body: Buffer): ReadonlyMap<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return new Map(Object.entries(value));
  } catch {
    return undefined;
  }
}
