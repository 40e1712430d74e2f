// Draws docs/images/suggest.svg: what callers need of each limit, by a log of half an hour that this makes.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runCommandLine } from '../src/cli/index.ts';

const HELP = `Draws the picture of weir suggest in docs/images/, in a few seconds, and prints the table of the same log.

npm run draw:suggest
`;

const LIMITS = `
global: { user: 50/1s, bot: 50/1s }
buckets:
  messages.write: { main: channel, user: 5/5s, bot: 10/5s, resource: 30/10s }
routes: { "POST /v1/channels/{channel}/messages": messages.write }
invalid_requests: { limit: 10000/10m, restrict_for: 10m }
`;
const START_MS = Date.UTC(2026, 2, 2, 8);
const LASTS_MS = 1_800_000;

/** Always the same numbers. */
let seed = 7;
function random(below: number): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % below;
}

interface Sent {
  readonly atMs: number;
  readonly callerClass: 'user' | 'bot';
  readonly caller: string;
  readonly channel: string;
}

/** Some callers and channels are much busier than others, and what a caller sends comes in bursts. */
function* bursts(callerClass: 'user' | 'bot', callers: number, each: number, most: number): Generator<Sent> {
  for (let n = 0; n < callers; n++) {
    const count = 1 + random(each) + (random(50) === 0 ? random(4 * each) : 0);
    for (let burst = 0; burst < count; burst++) {
      const startMs = random(LASTS_MS);
      const size = 1 + Math.floor(most * (random(1_000) / 1_000) ** (3 + (n % 40)));
      const channel = `c${Math.min(random(400), random(400))}`;
      for (let i = 0; i < size; i++) {
        yield { atMs: START_MS + startMs + random(900), callerClass, caller: `${callerClass}${n}`, channel };
      }
    }
  }
}

function lineOf({ atMs, callerClass, caller, channel }: Sent, sequence: number): string {
  return `${JSON.stringify({
    ...{ level: 'info', time: new Date(atMs + 12).toISOString(), type: 'access', instance: 'a1b2c3d4' },
    ...{ keyId: 'k1k2k3k4', requestId: `a1b2c3d4-${sequence}`, arrivedAt: atMs, sequence, protocol: 'http1' },
    ...{ method: 'POST', path: `/v1/channels/{${channel}}/messages`, client: '192.0.2.1' },
    ...{ class: callerClass, caller, bucket: 'messages.write', decision: 'admitted', decidedAt: atMs },
    ...{ status: 200, durationMs: 12, upstreamMs: 11.5 },
  })}\n`;
}

async function draw(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-suggest-'));
  try {
    const [log, limits] = [join(folder, 'weir.log'), join(folder, 'limits.yaml')];
    const sent = [...bursts('user', 2_900, 20, 14), ...bursts('bot', 40, 400, 30)];
    const lines = sent.toSorted((a, b) => a.atMs - b.atMs).map(lineOf);
    await writeFile(log, lines.join(''));
    await writeFile(limits, LIMITS);
    const svg = join(import.meta.dirname, '..', 'docs', 'images', 'suggest.svg');
    const terminal = {
      env: {},
      out: (text: string) => process.stdout.write(text),
      err: (text: string) => process.stderr.write(text),
    };
    process.exitCode = await runCommandLine(['suggest', '--limits', limits, '--svg', svg, log], terminal);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } });
if (values.help) process.stdout.write(HELP);
else await draw();
