import { Random } from '../random.ts';
import type { FuzzRun } from './fuzz-run.ts';
import { disagreementWithGo, goQuirk } from './go-quirks.ts';
import { nodeQuirk } from './node-quirks.ts';
import { readRequestsWithNode } from './read-requests-with-node.ts';
import { readRequestsWithOurs } from './read-requests-with-ours.ts';
import { ReadersOfGo } from './read-with-go.ts';
import { requestsDifference, requestsDisagreement } from './request-differences.ts';
import type { RequestsReading } from './request-reading.ts';
import { someCuts, splitAt } from './splits.ts';
import { wireRequests } from './wire-requests.ts';

/** Up to this many bytes are also read one by one. */
const SMALL_BYTES = 1_000;
const MAX_FINDINGS = 10;

export interface RequestFuzzResult {
  readonly cases: number;
  /** Cases of which every byte belongs to a request that our connections and Node's server accept and read as the same. */
  readonly accepted: number;
  /** The same with Go's server. */
  readonly acceptedWithGo: number;
  /** Cases that ours refused. */
  readonly refused: number;
  /** Of these, those that Node's server did not refuse, by our reason. */
  readonly stricter: Readonly<Record<string, number>>;
  /** Cases that Go's server alone refused, by its reason. */
  readonly stricterGo: Readonly<Record<string, number>>;
  /** Disagreements in which another server is wrong, by what is wrong with it. */
  readonly quirks: Readonly<Record<string, number>>;
  readonly findings: readonly string[];
}

/**
 * Gives the same bytes to our connections, to Node's own server and to Go's. Ours may refuse what they take. What it takes must be
 * the same requests to Node, and to Go unless that refuses them, and the same however the bytes come and whenever they are served.
 */
export async function fuzzRequests({ seed, cases, withGo = true }: FuzzRun): Promise<RequestFuzzResult> {
  const findings: string[] = [];
  const go = withGo ? new ReadersOfGo() : null;
  const stricter: Record<string, number> = {};
  const stricterGo: Record<string, number> = {};
  const quirks: Record<string, number> = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  let [done, accepted, acceptedWithGo, refused] = [0, 0, 0, 0];
  for (; done < cases && findings.length < MAX_FINDINGS; done++) {
    const random = new Random(seed + done);
    const { bytes, plain } = wireRequests(random);
    const [byGo, node, ours] = await Promise.all([
      go?.requests(bytes),
      readRequestsWithNode(bytes),
      readRequestsWithOurs([bytes]),
    ]);
    const wrong =
      blame(
        'Node',
        requestsDisagreement(ours, node),
        disagreement => nodeQuirk(disagreement, node),
        quirks,
      ) ??
      blame(
        'Go',
        byGo ? disagreementWithGo(ours, byGo) : null,
        disagreement => goQuirk(disagreement, ours),
        quirks,
      ) ??
      overstrictness(ours, plain) ??
      (await changeWithDelivery(bytes, ours, random));
    if (wrong !== null)
      findings.push(
        `case ${done} of seed ${seed}: ${wrong}: ${JSON.stringify(bytes.toString('latin1').slice(0, 2_000))} ${JSON.stringify([ours, node, byGo]).slice(0, 6_000)}`,
      );
    if (ours.outcome === 'refused') refused++;
    if (ours.outcome === 'refused' && node.outcome !== 'refused') count(stricter, ours.why);
    if (ours.outcome !== 'refused' && byGo?.outcome === 'refused') count(stricterGo, byGo.why);
    if (isWhole(ours) && isWhole(node) && ours.requests.length === node.requests.length) accepted++;
    if (byGo && isWhole(ours) && isWhole(byGo) && ours.requests.length === byGo.requests.length)
      acceptedWithGo++;
  }
  go?.end();
  Error.stackTraceLimit = stackTraceLimit;
  return { cases: done, accepted, acceptedWithGo, refused, stricter, stricterGo, quirks, findings };
}

/** The disagreement with a reader, unless it is the one to blame, which is counted; null: there is none left. */
function blame(
  reader: string,
  disagreement: string | null,
  quirkOf: (disagreement: string) => string | null,
  quirks: Record<string, number>,
): string | null {
  if (disagreement === null) return null;
  const quirk = quirkOf(disagreement);
  if (quirk === null) return `${disagreement}, unlike ${reader}`;
  count(quirks, `${reader}: ${quirk}`);
  return null;
}

/** A reader may refuse what others take, but not what is in order. What the gateway's own rules turn away was read. */
function overstrictness({ outcome, requests }: RequestsReading, plain: boolean): string | null {
  if (!plain || outcome === 'between' || outcome === 'closed') return null;
  const turnedAway = outcome === 'refused' && (requests.at(-1)?.turnedAway ?? null) !== null;
  return turnedAway ? null : 'a refusal of what is in order';
}

function count(counts: Record<string, number>, what: string): void {
  counts[what] = 1 + (counts[what] ?? 0);
}

function isWhole({ outcome, requests }: RequestsReading): boolean {
  return (outcome === 'between' || outcome === 'closed') && requests.length > 0;
}

/** What changes when the same bytes come in pieces, are served late or early, or the client closes its side at once; null: nothing. */
async function changeWithDelivery(
  bytes: Buffer,
  ours: RequestsReading,
  random: Random,
): Promise<string | null> {
  const cut = () => splitAt(bytes, someCuts(bytes, random));
  const pauses = () => random.chance(0.3);
  const readings: [string, Promise<RequestsReading>][] = [
    ['in pieces', readRequestsWithOurs(cut(), { pauses })],
  ];
  if (random.chance(0.1) && bytes.length < SMALL_BYTES)
    readings.push(['byte by byte', readRequestsWithOurs(splitAt(bytes, Array.from(bytes.keys())))]);
  if (random.chance(0.2))
    readings.push(['served late', readRequestsWithOurs(cut(), { pauses, manner: 'tardy' })]);
  if (random.chance(0.1))
    readings.push(['served early', readRequestsWithOurs(cut(), { pauses, manner: 'hasty' })]);
  if (random.chance(0.2)) {
    const manner = random.pick(['prompt', 'tardy'] as const);
    readings.push(['half-closed', readRequestsWithOurs(cut(), { manner, endsAtOnce: true })]);
  }
  for (const [how, reading] of readings) {
    const wrong = requestsDifference(ours, await reading, how);
    if (wrong !== null) return `${how}, another ${wrong}: ${JSON.stringify(await reading).slice(0, 2_000)}`;
  }
  return null;
}
