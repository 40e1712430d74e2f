/** Spreads a number over 32 bits (the end of MurmurHash3), so that similar inputs give unrelated results. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Hashes a text to 32 bits (FNV-1a). The same in every gateway and after a restart; not for secrets. */
export function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

/**
 * Ranks an endpoint for a caller: each caller goes to the endpoint with its lowest rank. If an endpoint is removed, its callers
 * spread over all others. A new one only takes its share from each. All other callers stay. Source: weighted rendezvous hashing
 * (C. Schindelhauer and G. Schomaker, Weighted Distributed Hash Tables, 2005)
 *
 * @param weight above 0
 */
export function rankOf(callerHash: number, nameHash: number, weight: number): number {
  const part = ((mix(callerHash ^ nameHash) >>> 0) + 0.5) / 2 ** 32;
  return -Math.log(part) / weight;
}
