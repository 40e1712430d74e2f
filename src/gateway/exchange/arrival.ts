import type { Snapshot } from '../../config/index.ts';
import { ownString } from '../../core/index.ts';
import { canonicalHost, forwardedClient, RequestHead, readHost } from '../../wire/http/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { Arrival } from './connection-memory.ts';
import type { Downstream } from './downstream.ts';

/** Reads the header fields, unless they equal those of the connection's last request. */
export function readArrival(downstream: Downstream, snapshot: Snapshot, state: GatewayState): Arrival {
  const { memory, fields, framing, peer } = downstream;
  const rules = snapshot.forwarding;
  const known = memory.arrival;
  const isKnown = known !== null && known.fields === fields && known.rules === rules;
  const head = isKnown
    ? known.head
    : new RequestHead(fields, rules, memory.trusts(peer, snapshot.trustedProxies), framing.hopFields);
  if (head.untrustedClaims) noteClaims(head, peer, state);
  if (isKnown) return known;
  const clientAddress =
    head.forwardedFor === null ? peer : readForwardedFor(peer, head.forwardedFor, snapshot, state);
  const host = head.host === null ? null : readHost(head.host);
  const client = memory.clientAt(clientAddress, snapshot.limits);
  const hostAndPort = host === null ? '' : canonicalHost(head.host ?? '', host);
  return { head, host, hostAndPort, client, rules, fields };
}

/** Ignores the claims of an untrusted peer, but notes the peer: it may be a proxy missing from `trusted_proxies`. */
function noteClaims(head: RequestHead, peer: string, { listener, unlistedProxies }: GatewayState): void {
  listener.untrustedForwarding();
  if (head.claimedFor !== null) unlistedProxies.saw(peer, 'X-Forwarded-For', head.claimedFor);
  else if (head.claimedForwarded !== null) unlistedProxies.saw(peer, 'Forwarded', head.claimedForwarded);
}

function readForwardedFor(
  peer: string,
  forwardedFor: readonly string[],
  { trustedProxies }: Snapshot,
  { unlistedProxies }: GatewayState,
): string {
  const { address, claim } = forwardedClient(peer, forwardedFor, trustedProxies);
  // Own copies, because permits, limits and restrictions outlive the request.
  const client = ownString(address);
  // The client may itself be a proxy, in front of the trusted one.
  if (claim !== null) unlistedProxies.saw(client, 'X-Forwarded-For', claim);
  return client;
}
