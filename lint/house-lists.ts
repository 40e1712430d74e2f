// What `npm run house` prints and no tool can find out by itself. People keep both lists; a file that is gone makes `npm run lint` fail, as
// does a task with more files than its `most`.

/**
 * One idea, and the files in which it is realised: more than one file is more than one mechanism, and needs its reason. So does an idea
 * that another one nearly includes.
 */
export interface Mechanism {
  readonly idea: string;
  readonly files: readonly string[];
  /** Why there are several, or why it is not the same as another idea. */
  readonly why?: string;
}

export const MECHANISMS: readonly Mechanism[] = [
  { idea: 'sharing something among threads', files: ['core/process-part.ts'] },
  {
    idea: 'reporting from workers to the main thread',
    files: ['process/workers/messages.ts'],
    why: 'the main thread asks one worker by its number and adds what it counted to its own, and no other thread learns of it; a part has no numbers',
  },
  {
    idea: 'telling all gateways something',
    files: ['limits/redis/sharing/board.ts', 'limits/redis/sharing/offence-feed.ts'],
    why: 'facts hold until they expire, offences add up',
  },
  { idea: 'keeping a part that a reload did not change', files: ['core/reuse.ts'] },
  { idea: 'a key of gateway.yaml', files: ['config/settings/setting.ts'] },
  { idea: 'a policy of a route', files: ['config/policies/route-policies.ts'] },
  { idea: 'a key of an upstream', files: ['config/policies/upstream-settings.ts'] },
  { idea: 'a key of a bucket', files: ['config/policies/bucket-settings.ts'] },
  { idea: 'loading a configuration', files: ['config/load.ts'] },
  {
    idea: 'deciding the limits of a request',
    files: ['limits/counting/memory-store.ts', 'limits/redis/store/redis-store.ts'],
    why: 'one decides at once, one by a script in Redis with the same arithmetic',
  },
  { idea: 'a rule by which units return', files: ['limits/counting/counter.ts'] },
  {
    idea: 'a bounded table without timers',
    files: ['limits/counting/counter-table.ts', 'limits/counting/record-table.ts'],
    why: 'a counter is a few words under a key and a limit, a record has fields and a name',
  },
  { idea: 'a bounded map of recent things', files: ['core/collections.ts'] },
  { idea: 'a place among what is in flight', files: ['core/permits.ts'] },
  { idea: 'how often something happened lately', files: ['core/rates.ts'] },
  { idea: 'an error that the gateway makes itself', files: ['gateway/responses/errors.ts'] },
  { idea: 'the time, timers, sockets and chance', files: ['core/system.ts'] },
  { idea: 'what connections hold for clients', files: ['edge/server/buffered.ts'] },
  { idea: 'checking a signature', files: ['identity/auth/token/algorithms.ts'] },
  { idea: 'asking the provider', files: ['identity/signin/ask-provider.ts'] },
  {
    idea: 'waiting longer after each failure',
    files: [
      'identity/auth/key-set.ts',
      'identity/signin/ask-provider.ts',
      'upstream/balancing/endpoint-health.ts',
    ],
    why: 'each is one line of arithmetic, with a first wait, a longest one and a jitter of its own',
  },
  { idea: 'a log line at most once per minute or hour', files: ['observe/log/once-per-interval.ts'] },
];

/** A change that newcomers were asked to plan with `src/README.md` alone, and what it touches. */
interface Task {
  readonly task: string;
  readonly files: readonly string[];
  /** More files than this mean that the house got harder to change: `--check` fails. */
  readonly most: number;
}

export const TASKS: readonly Task[] = [
  { task: 'change the default limit of 50/s', files: ['config/limits/limits-schema.ts'], most: 1 },
  {
    task: "one more field in the admin API's buckets",
    files: ['edge/admin/api/shapes.ts', 'edge/admin/api/buckets-api.ts'],
    most: 2,
  },
  {
    task: 'the same, of what only the counters know',
    files: [
      'edge/admin/api/shapes.ts',
      'edge/admin/api/buckets-api.ts',
      'limits/counting/decision.ts',
      'limits/counting/memory-allowances.ts',
      'limits/redis/store/redis-allowances.ts',
      'limits/redis/store/counter-scripts.ts',
    ],
    most: 6,
  },
  {
    task: 'a key of routes that changes the path which the service gets',
    files: ['config/policies/service-path.ts', 'config/check/service-path-checks.ts', 'wire/http/target.ts'],
    most: 3,
  },
  {
    task: 'one more way to choose an endpoint',
    files: ['upstream/balancing/balancer.ts', 'config/policies/upstream-settings.ts'],
    most: 2,
  },
  {
    task: 'one more reason why a token is refused, in the log',
    files: ['core/listeners/auth-listener.ts', 'identity/auth/token/claims.ts'],
    most: 2,
  },
  { task: 'round Retry-After differently', files: ['core/fields.ts', 'cli/demo/sign-in-flow.ts'], most: 2 },
  {
    task: 'one more rule that closes a WebSocket, with a key of routes',
    files: ['config/policies/websocket.ts', 'gateway/terminals/web-socket.ts'],
    most: 3,
  },
  {
    task: 'the same, with a time that upstreams have as well',
    files: [
      'config/policies/upstream-settings.ts',
      'config/policies/websocket.ts',
      'gateway/terminals/web-socket.ts',
    ],
    most: 3,
  },
  {
    task: 'one more table that all threads count in',
    files: ['identity/auth/budget.ts', 'process/app/running-app.ts', 'offline/limit-tests/test-gateway.ts'],
    most: 3,
  },
  { task: 'one more cap', files: ['config/settings/caps.ts', 'edge/server/connection-caps.ts'], most: 2 },
  {
    task: 'one more key at the top of gateway.yaml, whose changes wait for a restart',
    files: ['config/settings/warm-up.ts', 'config/settings/settings.ts'],
    most: 2,
  },
  {
    task: 'one more cap, with a refusal that has a name of its own in metrics',
    files: ['config/settings/caps.ts', 'edge/server/connection-caps.ts', 'core/error.ts'],
    most: 3,
  },
  {
    task: 'one more thing that threads share, with a log line',
    files: ['gateway/runtime/default-refusals.ts', 'gateway/runtime/limiting.ts', 'gateway/gates/limit.ts'],
    most: 3,
  },
];
