import { requestsDisagreement } from './request-differences.ts';
import type { RequestsReading, SeenRequest } from './request-reading.ts';

/** What Go tells apart from the fields, or not at all: the framing, and the host, which a whole target brings as well. */
const TOLD_APART = /^(transfer-encoding|trailer)$/;

/** What ours reads otherwise than Go's server, as far as both accept the bytes; null: nothing. */
export function disagreementWithGo(ours: RequestsReading, go: RequestsReading): string | null {
  const accepted = go.requests.filter(({ complete }) => complete || go.outcome !== 'refused');
  const requests = ours.requests.filter(
    ({ turnedAway }, i) => turnedAway === null && (go.outcome !== 'refused' || i < accepted.length),
  );
  const outcome = go.outcome === 'refused' ? 'refused' : ours.outcome;
  return requestsDisagreement(
    comparable({ ...ours, outcome, requests }),
    comparable({ ...go, requests: accepted }),
  );
}

/** Why Go's server, and not ours, is to blame where they disagree; null: it is not. */
export function goQuirk(disagreement: string, ours: RequestsReading): string | null {
  const isOld = ours.requests.some(({ version }) => version === '1.0');
  // RFC 9112, 9.3: `close` is looked at before anything else, and all lines of a field are one list.
  if (disagreement !== 'persistence') return null;
  if (isOld)
    return 'of HTTP/1.0, the first Connection line alone is looked at, and for keep-alive within words';
  return ours.requests.some(hasCloseAmongWords)
    ? 'close is looked for within the elements of Connection'
    : null;
}

/** Whether an element of Connection has the word, between blanks, and is not it. */
function hasCloseAmongWords({ fields }: SeenRequest): boolean {
  const values = fields.filter((_, i) => fields[i - 1]?.toLowerCase() === 'connection' && i % 2 === 1);
  return values.some(value =>
    value.split(',').some(element => /[^ \t][ \t]+close\b|\bclose[ \t]+[^ \t]/i.test(element)),
  );
}

/** Go keeps fields by their name, in no order. */
function comparable(reading: RequestsReading): RequestsReading {
  return { ...reading, requests: reading.requests.map(each => ({ ...each, fields: sortedFields(each) })) };
}

function sortedFields({ fields, target }: SeenRequest): string[] {
  return byName(fields).filter((_, i, all) => {
    const [name, value] = all.slice(i - (i % 2));
    if (name === 'host') return target.startsWith('/') && value !== '';
    return !TOLD_APART.test(name ?? '');
  });
}

/** Names in lower case and values, by name; the values of one stay in their order. */
export function byName(fields: readonly string[]): string[] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < fields.length; i += 2)
    pairs.push([(fields[i] as string).toLowerCase(), fields[i + 1] as string]);
  return pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).flat();
}
