import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest files, slowest first: started last, one of them would run alone while the other workers are idle. */
const LONG = [
  'conformance/discordjs-rest',
  'story/reload-under-load',
  'story/reload-memory',
  'story/fuzz-requests',
  'story/shutdown',
  'story/big-bodies',
  'story/slow-readers',
  'story/house-rules',
  'story/access-tokens',
  'story/key-sets',
  'story/explain-agrees',
  'story/failed-verifications',
  'store/histories',
  'story/redis-replication',
  'story/serve',
  'story/demo-flow',
  'unit/http1/request/request-reader.fuzz',
  'unit/http1/response/response-reader.fuzz',
  'unit/limits/counting/memory-store.histories',
  'story/fuzz-responses',
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
