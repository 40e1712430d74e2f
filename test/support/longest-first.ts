import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest files, slowest first: started last, one of them would run alone while the other workers are idle. */
const LONG = [
  'conformance/discordjs-rest',
  'story/reload-under-load',
  'story/package',
  'story/demo-flow',
  'story/timeouts',
  'story/http2-floods',
  'story/redis-replication',
  'story/pipelining',
  'story/fuzz-requests',
  'story/server-sent-events',
  'story/web-sockets',
  'story/redis-outages',
  'story/reload-memory',
  'story/restrictions',
  'story/fair-shares',
  'story/slow-bodies',
  'story/provider-faults',
  'story/overload',
  'story/shutdown',
  'unit/config/reload/config-watcher',
  'story/web-socket-handshakes',
  'story/status-page',
  'story/upstream-transport',
  'story/demo.test',
  'story/http2-transport',
  'story/key-sets',
  'story/serve',
  'story/house-rules',
  'story/grpc-calls',
  'store/histories',
  'story/slow-readers',
  'story/failed-verifications',
];

/** The order of test files: the long ones first, so that all workers end at about the same time. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const at = LONG.findIndex(name => moduleId.includes(`/test/${name}`));
  return at < 0 ? LONG.length : at;
}
