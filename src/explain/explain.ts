import { METHODS } from 'node:http';
import type { Snapshot } from '../config/index.ts';
import { addressKey } from '../http/index.ts';
import { GRPC } from '../routing/index.ts';
import { type ActiveRestrictions, describeActive } from './explain-active.ts';
import { explainCall } from './explain-call.ts';
import { explainRequest } from './explain-request.ts';
import type { AskedRequest, Explanation } from './explanation.ts';
import type { Row } from './row.ts';

/** What `explain` takes as a method. */
export const EXPLAINED_METHODS: readonly string[] = [...METHODS, GRPC];

/**
 * Says what a gateway with this configuration would do with a request, and why. Sends nothing.
 *
 * @param active of a running gateway; null: they are not known
 */
export function explain(
  request: AskedRequest,
  snapshot: Snapshot,
  active: ActiveRestrictions | null = null,
): Explanation {
  const { caller } = request;
  const { rows, taken, route } =
    request.method === GRPC ? explainCall(request, snapshot) : explainRequest(request, snapshot);
  const now =
    active === null ? { rows: [], isRestricted: false } : describeActive(caller, route ?? null, active);
  const { address } = caller;
  const last: Row[] = address === null ? [] : [['address', describeAddress(address, snapshot)]];
  return { rows: [...now.rows, ...rows, ...last], taken: taken && !now.isRestricted };
}

function describeAddress(address: string, snapshot: Snapshot): string {
  const key = addressKey(address);
  const counts = key === address ? `${address} is counted by itself` : `${address} counts as ${key}`;
  if (!snapshot.trustedProxies.has(address)) {
    return `${counts}; not a trusted proxy: its forwarding headers are ignored`;
  }
  return `${address} is a trusted proxy: the client's address is read from its X-Forwarded-For`;
}
