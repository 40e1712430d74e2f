/** So many connections that began at once would otherwise all come back at once, gateway for gateway. */
const SPREAD = 0.1;

/**
 * The moment at which a connection is old: the given age after its start, a tenth earlier or later, as gRPC does it
 * (https://github.com/grpc/proposal/blob/master/A9-server-side-conn-mgt.md).
 *
 * @param maxAgeMs null: it never is
 * @param part from 0 up to but not including 1
 */
export function oldAtMs(nowMs: number, maxAgeMs: number | null, part: number): number {
  if (maxAgeMs === null) return Number.POSITIVE_INFINITY;
  return nowMs + maxAgeMs * (1 - SPREAD + 2 * SPREAD * part);
}
