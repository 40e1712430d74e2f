import { setTimeout as sleep } from 'node:timers/promises';
import type { SigningAlgorithm } from '../../test/support/token-issuer.ts';
import type { Bench } from '../bench.ts';
import { requestsWith } from '../load/connection.ts';
import { sendEach } from '../load/send-each.ts';
import { figuresOf } from '../measure/figures.ts';
import { cpuMicroseconds, residentMebibytes } from '../measure/processes.ts';
import { envoy } from '../peers/envoy.ts';
import { FORWARDING } from '../peers/job.ts';
import type { Peer } from '../peers/peer.ts';
import { weir } from '../peers/weir.ts';
import type { Row } from '../report/result.ts';
import type { Part } from '../world/part.ts';
import type { Scenario } from './scenario.ts';

const COLD_TOKENS = 2_000;
const FORGED_TOKENS = 100_000;
const CONNECTIONS = 64;
const PATH = '/v1/things/7';
const JOB = { ...FORWARDING, token: true };
/** nginx and HAProxy do not cache tokens. */
const WHO_CHECKS: readonly Peer[] = [weir, envoy];

/** Tokens that are seen for the first time, and once more for comparison. */
export const coldTokens: Scenario = {
  id: 'cold-tokens',
  title: 'Cold tokens',
  meaning: 'The first request of every token pays for checking a signature. Later ones do not.',
  quick: false,
  async run(bench) {
    const rows: Row[] = [];
    for (const algorithm of ['RS256', 'ES256'] as const)
      for (const peer of installed()) rows.push(await coldRow(bench, peer, algorithm));
    return {
      how: `${COLD_TOKENS} tokens, each sent twice over ${CONNECTIONS} connections: cold, then known; ${bench.settings.rounds} rounds`,
      columns: [
        { id: 'cold', label: 'cold, CPU µs', digits: 0 },
        { id: 'known', label: 'known, CPU µs', digits: 0 },
        { id: 'above', label: 'cold above known, CPU µs', digits: 0 },
      ],
      rows,
    };
  },
};

export const forgedTokens: Scenario = {
  id: 'forged-tokens',
  title: '100,000 forged tokens from one address',
  meaning:
    'Someone tries to use up the processor with signatures that have to be checked, and memory with their results.',
  quick: false,
  async run(bench) {
    const rows: Row[] = [];
    const notes: string[] = [];
    for (const peer of installed()) {
      const { row, statuses } = await forgedRow(bench, peer);
      rows.push(row);
      notes.push(
        `${peer.name} answered ${[...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')}.`,
      );
    }
    return {
      how: `${FORGED_TOKENS} tokens with all in order but the ES256 signature, each once, ${CONNECTIONS} connections`,
      columns: [
        { id: 'cpu', label: 'CPU µs/request', digits: 1 },
        { id: 'before', label: 'MiB before', digits: 0 },
        { id: 'after', label: 'MiB after', digits: 0 },
      ],
      rows,
      notes,
    };
  },
};

function installed(): readonly Peer[] {
  return WHO_CHECKS.filter(peer => peer.version() !== null);
}

async function coldRow(bench: Bench, peer: Peer, algorithm: SigningAlgorithm): Promise<Row> {
  const part = await bench.start(peer, JOB);
  const send = async (tokens: readonly string[]) => (await costOf(part, tokens, 200)).cpu;
  // Warms up all but the check, and then that.
  const warm = Array.from({ length: 500 }, () => bench.world.issuer.token('ES256'));
  for (let i = 0; i < 10; i++) await send(warm);
  const name = `${peer.name}, ${algorithm}`;
  const samples: Record<'cold' | 'known' | 'above', number>[] = [];
  await bench.inRounds([name], bench.settings.rounds, async () => {
    const tokens = Array.from({ length: COLD_TOKENS }, () => bench.world.issuer.token(algorithm));
    const [cold, known] = [await send(tokens), await send(tokens)];
    samples.push({ cold, known, above: cold - known });
  });
  await bench.stopAll();
  return { name, figures: figuresOf(samples) };
}

async function forgedRow(bench: Bench, peer: Peer) {
  const part = await bench.start(peer, JOB);
  await costOf(
    part,
    Array.from({ length: 5_000 }, () => 'nonsense'),
    401,
  );
  bench.progress(`${peer.name}: ${FORGED_TOKENS} forged tokens`);
  bench.noteLoad();
  const before = residentMebibytes(part.pid);
  const forged = function* () {
    for (let i = 0; i < FORGED_TOKENS; i++) yield bench.world.issuer.forgedToken();
  };
  const { cpu, statuses } = await costOf(part, forged(), null);
  await sleep(1_000);
  const after = residentMebibytes(part.pid);
  await bench.stopAll();
  return { row: { name: peer.name, figures: figuresOf([{ cpu, before, after }]) }, statuses };
}

/** @param expected the status of all responses; null: any. */
async function costOf(part: Part, tokens: Iterable<string>, expected: number | null) {
  const requests = requestsWith(PATH, 'Authorization', bearers(tokens));
  const before = cpuMicroseconds(part.pid);
  const statuses = await sendEach(part.port, requests, CONNECTIONS);
  const cpu = cpuMicroseconds(part.pid) - before;
  const count = [...statuses.values()].reduce((sum, times) => sum + times, 0);
  if (expected !== null && statuses.get(expected) !== count)
    throw new Error(`not all were answered ${expected}: ${[...statuses].join(' ')}`);
  return { cpu: cpu / count, statuses };
}

function* bearers(tokens: Iterable<string>): Generator<string> {
  for (const token of tokens) yield `Bearer ${token}`;
}
