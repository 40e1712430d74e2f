// The fields of draft-ietf-httpapi-ratelimit-headers-11, as Structured Fields (RFC 9651). Names of policies are made of letters,
// digits and "._-/", so a string needs no escapes.

/** One quota policy, an item of `RateLimit-Policy` (section 3.1). */
export function policyItem(name: string, units: number, periodMs: number): string {
  return `"${name}";q=${units};w=${periodMs / 1_000}`;
}

/** What is left of a quota. */
export interface ServiceLimit {
  /** The name of its policy. */
  readonly name: string;
  readonly remaining: number;
  /** For how long the client can use no more than that, in milliseconds. */
  readonly windowMs: number;
  /** 32 hex digits that tell the parts of a partitioned quota apart; null: it is not partitioned. */
  readonly partition: string | null;
}

/** The value of `RateLimit` (section 4.1). The window is at least a second: clients divide by it. */
export function serviceLimitItem({ name, remaining, windowMs, partition }: ServiceLimit): string {
  const item = `"${name}";r=${remaining};t=${Math.max(1, Math.ceil(windowMs / 1_000))}`;
  return partition === null ? item : `${item};pk=:${Buffer.from(partition, 'hex').toString('base64')}:`;
}
