// Sends the same bytes through Weir and other gateways and writes docs/comparison.md: npm run compare:wire
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PEERS } from './peers/index.ts';
import { FORWARDING } from './peers/job.ts';
import type { Peer } from './peers/peer.ts';
import { type Outcome, outcomeOf } from './wire/outcome.ts';
import { type Column, comparisonPage } from './wire/page.ts';
import { RecordingService } from './wire/recording-service.ts';
import { GROUPS } from './wire/vectors.ts';
import { makeCertificate } from './world/certificate.ts';
import { startIssuer } from './world/issuer.ts';
import { freePort } from './world/part.ts';

const PAGE = join(import.meta.dirname, '../docs/comparison.md');

const directory = await mkdtemp(join(tmpdir(), 'weir-wire-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const issuer = await startIssuer();
const certificate = await makeCertificate(directory);
const columns: Column[] = [];
for (const peer of PEERS) {
  const version = peer.version();
  if (version === null) throw new Error(`${peer.name} is not installed: ${peer.install}`);
  console.error(`# ${peer.name} ${version}`);
  columns.push({ name: peer.name, version, outcomes: await outcomesOf(peer) });
}
await writeFile(PAGE, comparisonPage(GROUPS, columns));
console.error(`# written to ${PAGE}`);
process.exit(0);

async function outcomesOf(peer: Peer): Promise<ReadonlyMap<string, Outcome>> {
  const service = await RecordingService.start();
  const port = await freePort();
  const ports = { upstreamPort: service.port, grpcUpstreamPort: 0, webSocketUpstreamPort: 0 };
  const own = await mkdtemp(join(directory, 'gateway-'));
  const surroundings = { ...ports, issuer, certificate, directory: own, port };
  let part = await peer.start(FORWARDING, surroundings);
  const outcomes = new Map<string, Outcome>();
  for (const { title, vectors } of GROUPS)
    for (const vector of vectors) {
      outcomes.set(`${title}: ${vector.name}`, await outcomeOf(vector, port, service));
      if (part.isAlive()) continue;
      console.error(`#   ended after: ${title}: ${vector.name}`);
      part = await peer.start(FORWARDING, surroundings);
    }
  await part.stop();
  service.stop();
  return outcomes;
}
