import type { RequestsReading, SeenRequest } from './request-reading.ts';

/** What ours reads and Node does not, or otherwise; null: nothing. Ours may refuse more, and turn away what Node refuses. */
export function requestsDisagreement(ours: RequestsReading, node: RequestsReading): string | null {
  for (const [i, request] of ours.requests.entries()) {
    const other = node.requests[i];
    if (request.turnedAway !== null && (other === undefined || node.outcome === 'refused')) continue;
    if (other === undefined) return 'a request that the other does not see';
    const wrong = headDifference(request, other) ?? bodyDisagreement(request, other, ours);
    if (wrong !== null) return wrong;
    if (request.turnedAway === null && request.complete && request.persistent !== other.persistent)
      return 'persistence';
  }
  const counts = ours.requests.length === node.requests.length;
  switch (ours.outcome) {
    case 'between':
      if (node.outcome === 'refused') return 'acceptance';
      return counts && node.requests.every(({ complete }) => complete) ? null : 'number of requests';
    case 'inside':
      return counts ? null : 'number of requests';
    default:
      return null;
  }
}

function headDifference(a: SeenRequest, b: SeenRequest): string | null {
  if (a.method !== b.method) return 'method';
  if (a.target !== b.target) return 'target';
  if (a.version !== b.version) return 'version';
  return JSON.stringify(a.fields) === JSON.stringify(b.fields) ? null : 'field';
}

function bodyDisagreement(ours: SeenRequest, node: SeenRequest, { outcome }: RequestsReading): string | null {
  if (ours.turnedAway !== null || ours.body === null) return null;
  const body = node.body ?? '';
  if (ours.complete) return node.complete && ours.body === body ? null : 'body';
  if (outcome !== 'refused' && node.complete) return 'end of a body';
  return body.startsWith(ours.body) || ours.body.startsWith(body) ? null : 'beginning of a body';
}

/** What differs between two of our readings of the same bytes, of which the second came in another manner; null: nothing. */
export function requestsDifference(
  whole: RequestsReading,
  other: RequestsReading,
  how: string,
): string | null {
  // A server that responds early closes after requests that may be incomplete. A client that half-closes inside one is refused.
  const fewer = how === 'served early';
  if (!fewer && whole.requests.length !== other.requests.length) return 'number of requests';
  if (other.requests.length > whole.requests.length) return 'number of requests';
  for (const [i, request] of other.requests.entries()) {
    const expected = whole.requests[i];
    if (expected === undefined) return 'request';
    const wrong = headDifference(expected, request);
    if (wrong !== null) return wrong;
    if (expected.turnedAway !== request.turnedAway) return 'verdict';
    if (request.body === null || expected.body === null) continue;
    const same = expected.complete
      ? expected.body === request.body
      : expected.body.startsWith(request.body) || request.body.startsWith(expected.body);
    if (!same || expected.complete !== request.complete) return 'body';
  }
  if (fewer) return null;
  if (how === 'half-closed' && whole.outcome === 'inside')
    return other.outcome === 'refused' ? null : 'outcome';
  if (how === 'half-closed' && whole.outcome === 'closed')
    return other.outcome === 'between' ? null : 'outcome';
  if (whole.outcome !== other.outcome) return 'outcome';
  // A client that half-closes inside a request that was turned away is refused again, silently.
  return whole.status === other.status || how === 'half-closed' ? null : 'status';
}
