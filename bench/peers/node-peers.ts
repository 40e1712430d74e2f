import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startNode } from '../world/part.ts';
import type { Job } from './job.ts';
import { NEVER_REACHED_PER_SECOND, type Peer } from './peer.ts';

const SERVERS = join(import.meta.dirname, '../servers');
const PACKAGES = join(import.meta.dirname, '../../node_modules');

export const httpProxy3: Peer = {
  name: 'http-proxy-3',
  install: 'npm ci',
  version: () => packageVersion('http-proxy-3'),
  leavesOut: job => (isPlain(job) ? null : 'bare: it checks and limits nothing'),
  start: (_job, { port, upstreamPort }) =>
    startNode(join(SERVERS, 'http-proxy-3.ts'), port, { UPSTREAM_PORT: `${upstreamPort}` }),
};

export const fastify: Peer = {
  name: 'Fastify',
  install: 'npm ci',
  version: () => packageVersion('@fastify/http-proxy'),
  leavesOut: job => (isPlain(job) ? null : 'one limit, of each token as it is; it checks no tokens'),
  start: (job, { port, upstreamPort }) =>
    startNode(join(SERVERS, 'fastify.ts'), port, {
      UPSTREAM_PORT: `${upstreamPort}`,
      MAX_PER_MINUTE: `${{ none: 0, wide: NEVER_REACHED_PER_SECOND * 60, spent: 1 }[job.limits]}`,
    }),
};

/** Not a gateway: shows the minimum cost of a response in Node. */
export const emptyNode: Peer = {
  name: 'empty Node server',
  install: 'npm ci',
  version: () => process.versions.node,
  leavesOut: () => 'no gateway: answers 200 with nothing',
  start: (_job, { port }) => startNode(join(SERVERS, 'empty-node.ts'), port, {}),
};

function isPlain(job: Job): boolean {
  return !job.token && job.limits === 'none';
}

function packageVersion(name: string): string | null {
  try {
    return JSON.parse(readFileSync(join(PACKAGES, name, 'package.json'), 'utf8')).version;
  } catch {
    return null;
  }
}
