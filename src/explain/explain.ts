import { METHODS } from 'node:http';
import type { Snapshot } from '../config/index.ts';
import { addressKey } from '../http/index.ts';
import { GRPC } from '../routing/index.ts';
import { explainCall } from './explain-call.ts';
import { explainRequest } from './explain-request.ts';
import type { AskedRequest, Explanation } from './explanation.ts';

/** What `explain` takes as a method. */
export const EXPLAINED_METHODS: readonly string[] = [...METHODS, GRPC];

/** Says what a gateway with this configuration would do with a request, and why. Sends nothing. */
export function explain(request: AskedRequest, snapshot: Snapshot): Explanation {
  const { address } = request.caller;
  const { rows, taken } =
    request.method === GRPC ? explainCall(request, snapshot) : explainRequest(request, snapshot);
  return address === null
    ? { rows, taken }
    : { rows: [...rows, ['address', describeAddress(address, snapshot)]], taken };
}

function describeAddress(address: string, snapshot: Snapshot): string {
  const key = addressKey(address);
  const counts = key === address ? `${address} is counted by itself` : `${address} counts as ${key}`;
  if (!snapshot.trustedProxies.has(address)) {
    return `${counts}; not a trusted proxy: its forwarding headers are ignored`;
  }
  return `${address} is a trusted proxy: the client's address is read from its X-Forwarded-For`;
}
