import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest files, slowest first: started last, one of them would run alone while the other workers are idle. Those that mostly
 * wait take turns with those that compute, so that the cores have work from the start.
 */
const LONG = [
  'story/fuzz-requests',
  'story/reload-memory',
  'story/web-sockets',
  'story/many-routes',
  'story/single-bytes',
  'story/http2-broken-upstreams',
  'story/demo-flow',
  'story/timeouts',
  'story/server-sent-events',
  'story/pipelining',
  'story/http2-floods',
  'story/redis-replication',
  'story/explain-agrees',
  'story/fair-shares',
  'story/slow-bodies',
  'story/redis-outages',
  'story/big-bodies',
  'story/overload',
  'story/key-sets',
  'story/upstream-transport',
  'story/shutdown',
  'story/web-socket-handshakes',
  'story/access-tokens',
  'story/http2-transport',
  'story/demo.test',
  'story/provider-faults',
  'story/fuzz-responses',
  'story/grpc-calls',
  'story/house-rules',
  'story/status-page',
  'story/serve',
  'story/resting-connections',
  'store/histories',
  'story/failed-verifications',
  'story/tls-handshakes',
  'story/slow-readers',
  'story/command-line',
  'story/departures',
  'story/restrictions',
  'story/http2-limits',
  'story/lingering',
  'story/revoked-tokens',
  'story/uploads',
  'story/simulate',
  'unit/limits/counting/memory-store.histories',
  'unit/config/reload/config-watcher',
  'unit/config/schema/json-schema',
  'unit/wire/http1/request-reader.fuzz',
  'unit/wire/http1/response-reader.fuzz',
  'unit/config/yaml/secret-lines',
  'unit/identity/auth/verifier.mutations',
];

/** The order of test files: the long ones first, so that all workers end at about the same time. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  const at = LONG.findIndex(name => moduleId.includes(`/test/${name}`));
  const place = at < 0 ? LONG.length : at;
  // A process serves another file of its project only where that is the next one: else it ends, and another imports everything again.
  if (project.name !== 'shared') return place - LONG.length - 1;
  return moduleId.includes('/test/unit/') ? LONG.length + 1 + place : place;
}
