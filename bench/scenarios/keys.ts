import type { Bench } from '../bench.ts';
import { requestsWith } from '../load/connection.ts';
import { sendEach } from '../load/send-each.ts';
import { figuresOf } from '../measure/figures.ts';
import { cpuMicroseconds, residentMebibytes } from '../measure/processes.ts';
import { haproxy } from '../peers/haproxy.ts';
import { FORWARDING } from '../peers/job.ts';
import { nginx } from '../peers/nginx.ts';
import type { Peer } from '../peers/peer.ts';
import { weir } from '../peers/weir.ts';
import type { Row } from '../report/result.ts';
import type { Scenario } from './scenario.ts';

const KEYS = 1_000_000;
const WARM_UP = 50_000;
const CONNECTIONS = 64;
const JOB = { ...FORWARDING, limits: 'wide', forwardedAddresses: true } as const;

/** Envoy's local limits have one counter, and Fastify's plugin forgets all but 5,000 keys. */
const WHO_COUNTS: readonly Peer[] = [weir, nginx, haproxy];

export const liveKeys: Scenario = {
  id: 'keys',
  title: '1,000,000 live keys',
  meaning: 'As many callers within a period as a large service has, each with a count of its own.',
  quick: false,
  async run(bench) {
    const rows: Row[] = [];
    for (const peer of WHO_COUNTS.filter(each => each.version() !== null))
      rows.push(await rowOf(bench, peer));
    return {
      how: `${KEYS} requests of as many addresses, told by X-Forwarded-For, over ${CONNECTIONS} connections`,
      columns: [
        { id: 'bytes', label: 'bytes a key', digits: 0 },
        { id: 'after', label: 'MiB after', digits: 0 },
        { id: 'cpu', label: 'CPU µs/request', digits: 1 },
      ],
      rows,
      notes: [
        'nginx forgets an address a minute after its last request.',
        'bytes a key: growth of resident memory.',
      ],
    };
  },
};

async function rowOf(bench: Bench, peer: Peer): Promise<Row> {
  bench.progress(peer.name);
  const part = await bench.start(peer, JOB);
  const one = Array.from({ length: WARM_UP }, () => '198.51.100.7');
  await sendEach(part.port, requests(one), CONNECTIONS);
  bench.noteLoad();
  const [before, cpuBefore] = [residentMebibytes(part.pid), cpuMicroseconds(part.pid)];
  const statuses = await sendEach(part.port, requests(addresses()), CONNECTIONS);
  const cpu = (cpuMicroseconds(part.pid) - cpuBefore) / KEYS;
  const after = residentMebibytes(part.pid);
  await bench.stopAll();
  if (statuses.get(200) !== KEYS)
    throw new Error(`${peer.name}: not all were admitted: ${[...statuses].join(' ')}`);
  const bytes = ((after - before) * 1024 * 1024) / KEYS;
  return { name: peer.name, figures: figuresOf([{ bytes, after, cpu }]) };
}

function requests(from: Iterable<string>): Generator<string> {
  return requestsWith('/v1/things/7', 'X-Forwarded-For', from);
}

function* addresses(): Generator<string> {
  for (let i = 0; i < KEYS; i++) yield `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
}
