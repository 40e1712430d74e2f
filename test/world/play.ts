import { Auditor } from './inhabitants/auditor.ts';
import { Buyer } from './inhabitants/buyer.ts';
import { Exile } from './inhabitants/exile.ts';
import { ADMIN_TOKEN, CALLS_PORT, CLIENT_SECRET, WorldGateway } from './inhabitants/gateway.ts';
import { GrpcClient } from './inhabitants/grpc-client.ts';
import { GrpcService, HASTY_WORDS, OWN_WORDS, WORDS } from './inhabitants/grpc-service.ts';
import { GrpcWebClient } from './inhabitants/grpc-web-client.ts';
import { HttpService } from './inhabitants/http-service.ts';
import { Http1Client } from './inhabitants/http1-client.ts';
import { Http2Client } from './inhabitants/http2-client.ts';
import { Http2WebSocketClient } from './inhabitants/http2-web-socket-client.ts';
import { FAULTS_END_MS, NetworkFaults } from './inhabitants/network-faults.ts';
import { HELD_PATH, Occupant } from './inhabitants/occupant.ts';
import { Operator } from './inhabitants/operator.ts';
import { Outcast } from './inhabitants/outcast.ts';
import { PatientClient } from './inhabitants/patient-client.ts';
import { PLENTY, PlentyService } from './inhabitants/plenty-service.ts';
import { WorldProvider } from './inhabitants/provider.ts';
import { WorldRedis } from './inhabitants/redis.ts';
import { REFRESH, SIGN_OUT, SignInClient } from './inhabitants/sign-in-client.ts';
import { KEPT, MAX_KEPT, MAX_OFFENCES, type Sent, SHARED, Sloth } from './inhabitants/sloth.ts';
import { Spender } from './inhabitants/spender.ts';
import { WebSocketClient } from './inhabitants/web-socket-client.ts';
import { WebSocketService } from './inhabitants/web-socket-service.ts';
import { EVERYONE } from './kernel/timeline.ts';
import { takeOverConnections } from './network/library-connections.ts';
import { atMostOnce } from './oracles/at-most-once.ts';
import { codesOnce } from './oracles/codes-once.ts';
import { deadlines } from './oracles/deadlines.ts';
import { onlyValidTokens } from './oracles/only-valid-tokens.ts';
import type { Oracle } from './oracles/oracle.ts';
import { ownShares } from './oracles/own-shares.ts';
import { nothingLeft, onlyRedisAdmits, SharedCounts } from './oracles/shared-counts.ts';
import { PRICE_FIELD, pricesTold, SOLD, type SoldQuota } from './oracles/sold-quotas.ts';
import { type LimitRule, withinLimits } from './oracles/within-limits.ts';
import type { PlannedStep } from './plan.ts';
import { type Finding, World } from './world.ts';

const ORACLES: readonly Oracle[] = [
  atMostOnce,
  codesOnce,
  deadlines,
  onlyValidTokens,
  withinLimits,
  pricesTold,
  ownShares,
  onlyRedisAdmits,
  nothingLeft,
];

/** What clients speak. */
const CLIENTS = [
  Http1Client,
  Http1Client,
  Http1Client,
  Http2Client,
  GrpcClient,
  GrpcWebClient,
  WebSocketClient,
  Http2WebSocketClient,
];

/** How many gateways a world has. Larger ones cost more, and find little that two do not. */
const GATEWAYS = [2, 2, 2, 2, 2, 3, 3, 4, 5];

export interface PlayOptions {
  /** Is handed each line of the history. */
  readonly show?: ((line: string) => void) | null;
  /** Whether a step of the plan happens. Default: all do. */
  readonly takes?: (step: PlannedStep) => boolean;
}

/** What became of a world. */
export interface Outcome {
  readonly seed: number;
  readonly findings: readonly Finding[];
  /** Of its whole history. */
  readonly digest: string;
  readonly steps: readonly PlannedStep[];
  readonly events: number;
  readonly requests: number;
  /** How long it lasted, in virtual time. */
  readonly lastedMs: number;
}

/** Plays the world of a seed from its beginning to its end. */
export async function play(
  seed: number,
  { show = null, takes = () => true }: PlayOptions = {},
): Promise<Outcome> {
  const world = new World(seed, show);
  const restore = takeOverConnections(world.wires);
  await world.kernel.takeOver(async () => {
    try {
      await live(world, takes);
    } catch (error) {
      world.wrong('fault', error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    await world.kernel.enter(EVERYONE, () => world.wires.bury());
  });
  restore();
  const { findings, history, plan, requests, nowMs } = world;
  const counts = { events: history.events, requests: requests.all.length, lastedMs: nowMs };
  return { seed, findings, digest: history.digest, steps: plan.steps, ...counts };
}

async function live(world: World, takes: (step: PlannedStep) => boolean): Promise<void> {
  const { kernel, plan } = world;
  populate(world);
  for (const inhabitant of world.inhabitants) await kernel.until(inhabitant.start?.() ?? Promise.resolve());
  const beganMs = world.nowMs;
  for (const inhabitant of world.inhabitants) inhabitant.plan?.();
  const draws = world.draws.part('steps');
  for (const step of plan.steps) {
    if (!takes(step)) continue;
    kernel.timeline.at(beganMs + step.atMs, world.wires.everyone, () => {
      world.history.tell('plan', `${step.number} ${step.what}`);
      step.run(draws.part(String(step.number)));
    });
  }
  await kernel.run(beganMs + FAULTS_END_MS);
  world.history.tell('plan', 'everything heals');
  world.isHealed = true;
  for (const inhabitant of world.inhabitants) await kernel.until(inhabitant.heal?.() ?? Promise.resolve());
  for (const inhabitant of world.inhabitants)
    await kernel.until(inhabitant.prove?.() ?? Promise.resolve(), 300_000);
  // What the faults have left is over after the longest timeout.
  await kernel.run(world.nowMs + 25_000);
  // Those who ask leave before those who answer.
  for (const inhabitant of world.inhabitants.toReversed())
    await kernel.until(inhabitant.leave?.() ?? Promise.resolve(), 300_000);
  for (const judge of ORACLES) judge(world);
}

/** Decides who lives in the world of this seed. */
function populate(world: World): void {
  const draws = world.draws.part('population');
  const provider = new WorldProvider(world);
  const service = new HttpService(world, 'service', 'http1');
  const multiplexed = new HttpService(world, 'h2-service', 'h2');
  const live = new WebSocketService(world, 'live-service');
  const calls = new GrpcService(world, 'grpc-service');
  const plenty = new PlentyService(world, 'plenty-service');
  const global: LimitRule = { units: draws.whole(5, 30), periodMs: 2_000, algorithm: 'fixed' };
  const things: LimitRule = {
    ...{ units: draws.whole(1, 6), periodMs: 1_000 * draws.whole(1, 5) },
    algorithm: draws.one(['fixed', 'smooth']),
  };
  const callDraws = world.draws.part('calls');
  world.listensForCalls = callDraws.percent(60);
  const words: LimitRule = {
    ...{ units: callDraws.whole(2, 12), periodMs: 1_000 * callDraws.whole(1, 3) },
    algorithm: callDraws.one(['fixed', 'smooth']),
  };
  world.sold = drawSold(world);
  world.limits = { global: draws.percent(30) ? global : null, things, words };
  const limitsOf = (ofThings: LimitRule) => ({
    ...(world.reading.hasOffences && {
      invalid_requests: { limit: `${MAX_OFFENCES}/1m`, restrict_for: '5s' },
    }),
    global:
      world.limits.global === null
        ? 'off'
        : { user: quotaOf(global), bot: quotaOf(global), address: quotaOf(global) },
    time_zone: world.night.timeZone,
    buckets: {
      sold: soldOf(world),
      things: { user: quotaOf(ofThings), algorithm: ofThings.algorithm },
      words: { user: quotaOf(words), algorithm: words.algorithm },
      held: { concurrent: world.mostHeld },
      ...(world.reading.hasShared && {
        ...{ shared: { main: 'thing', resource: '5/1m' }, kept: { concurrent: MAX_KEPT } },
      }),
    },
    routes: {
      ...(world.reading.hasShared && { [`${SHARED}/{thing}`]: 'shared', [KEPT]: 'kept' }),
      '/v1/things/**': 'things',
      [SOLD]:
        world.sold.price === null
          ? 'sold'
          : { bucket: 'sold', cost: { response_field: PRICE_FIELD, ...world.sold.price } },
      [`GRPC ${WORDS}/*`]: 'words',
      [HELD_PATH]: 'held',
    },
  });
  world.secrets.add(CLIENT_SECRET);
  world.secrets.add(ADMIN_TOKEN);
  world.keepsState = draws.percent(50);
  const timeouts = { first_byte: '8s', idle: '8s' };
  const shared = { timeouts, max_requests: draws.one([1_024, 12]) };
  const mostCalls = draws.one([1_024, 6]);
  const mostLive = draws.one([1_024, 4]);
  const h2 = {
    ...{ max_connections: draws.one([16, 2]), max_streams: draws.one([100, 3]) },
    ...{ ping_interval: '3s', ping_timeout: '2s' },
  };
  const call = { upstream: 'calls', grpc_web: true };
  const anyone = { authentication: 'none', global_limit: 'exempt' };
  const workers = draws.one([1, 1, 2]);
  world.workers = workers;
  world.mostHeld = world.draws.part('held').whole(1, 4);
  const store = world.draws.part('sharing').percent(40) ? share(world) : null;
  const reading = drawReading(world);
  const every = { max_requests: reading.mostRequests, max_requests_per_caller: '100%', timeouts };
  const filesOf = (address: string, ofThings: LimitRule) => ({
    limits: limitsOf(ofThings),
    config: {
      limits: 'limits.yaml',
      ...(workers > 1 && { workers }),
      ...(store && { store }),
      listen: {
        http: { address: `${address}:80`, h2c: true },
        admin: { address: `${address}:81`, token_file: 'admin-token' },
        ...(world.listensForCalls && { grpc: `${address}:${CALLS_PORT}` }),
      },
      identity_provider: {
        ...{ issuer: provider.issuer, allow_http: true, client_id: 'gateway' },
        ...{ client_secret_file: 'client-secret', redirect_uri: 'https://app.test/callback' },
        notices: { not_before_push: 'admin' },
      },
      ...(world.keepsState && { state: { folder: '/var/lib/weir', counters: '1h' } }),
      access_tokens: { audience: 'api' },
      sign_in: { refresh: REFRESH, sign_out: SIGN_OUT },
      upstreams: {
        api: { url: service.url, ...shared },
        multiplexed: { url: multiplexed.url, ...shared, protocol: 'h2', h2 },
        live: { url: live.url, timeouts: { ...timeouts, websocket_idle: '6s' }, max_websockets: mostLive },
        calls: { url: calls.url, protocol: 'grpc', h2, max_grpc_calls: mostCalls },
        plenty: { url: plenty.url, ...every, timeouts: { ...timeouts, websocket_idle: '30s' } },
        'plenty-h2': { url: plenty.multiplexedUrl, protocol: 'h2', ...every },
        'plenty-calls': {
          ...{ url: plenty.multiplexedUrl, protocol: 'grpc' },
          ...{ max_grpc_calls: reading.mostRequests, max_grpc_calls_per_caller: '100%' },
        },
      },
      routes: [
        { path: '/v1/things/**', upstream: 'api', authentication: 'optional' },
        { path: SOLD, upstream: 'api', authentication: 'optional' },
        { path: '/v1/open', upstream: 'api', authentication: 'none' },
        { path: HELD_PATH, upstream: 'api', authentication: 'none' },
        { path: '/v1/other', upstream: 'api', authentication: 'required' },
        { path: '/v1/multiplexed/**', upstream: 'multiplexed', authentication: 'optional' },
        { path: '/v1/live', upstream: 'live', authentication: 'optional', websocket: true },
        { path: PLENTY.http1, upstream: 'plenty', ...anyone },
        { path: `${SHARED}/{thing}`, upstream: 'plenty', ...anyone },
        { path: KEPT, upstream: 'plenty', ...anyone },
        { path: PLENTY.h2, upstream: 'plenty-h2', ...anyone },
        { path: PLENTY.webSocket, upstream: 'plenty', ...anyone, websocket: true },
        { grpc: PLENTY.call.slice(1), upstream: 'plenty-calls', grpc_web: true, ...anyone },
        { grpc: `${WORDS}/*`, ...call, authentication: 'optional' },
        { grpc: `${HASTY_WORDS}/*`, ...call, authentication: 'optional' },
        { grpc: `${OWN_WORDS}/*`, ...call, authentication: 'required' },
      ],
      timeouts: {
        client_header: '5s',
        client_body: '8s',
        client_read: `${reading.clientReadMs}ms`,
        keep_alive: '10s',
      },
      min_read_rate: reading.minBytesPerS === null ? 'off' : `${reading.minBytesPerS}B/s`,
      http2: { max_streams: reading.maxStreams },
      caps: { limit_keys: 10_000, buffered: `${reading.bufferedBytes / 1_024}KiB`, ...reading.caps },
      log: { level: 'info', access: true },
      shutdown: { delay: '0s', drain: '30s' },
    },
  });
  const gateways = Array.from(
    { length: draws.one(GATEWAYS) },
    (_, i) => new WorldGateway(world, `gateway-${i + 1}`, filesOf),
  );
  const clients = Array.from({ length: draws.whole(1, 4) }, (_, i) => {
    const Kind = draws.one(CLIENTS);
    return new Kind(world, `client-${i + 1}`, provider);
  });
  if (reading.hasTables) for (const { host } of gateways) host.tellConnections();
  const sent: Sent[] = [];
  const sloths = Array.from(
    { length: world.draws.part('sloths').one([1, 1, 2]) },
    (_, i) => new Sloth(world, `sloth-${i + 1}`, plenty, sent),
  );
  world.gateways.push(...gateways);
  if (world.sharing !== null) world.inhabitants.push(world.sharing.redis);
  world.inhabitants.push(
    provider,
    service,
    multiplexed,
    live,
    calls,
    plenty,
    ...gateways,
    new Auditor(world),
    new NetworkFaults(world),
    new Operator(world),
    new PatientClient(world),
    new Buyer(world),
    new Outcast(world),
    new Spender(world),
    new Occupant(world),
    new Exile(world, provider),
    new SignInClient(world, provider),
    ...clients,
    ...sloths,
  );
}

/** Decides about the quotas of the bucket `sold`. A share of the costs has room for a reserve, whatever the number of gateways. */
function drawSold(world: World): World['sold'] {
  const draws = world.draws.part('sold');
  const count = (calendar: SoldQuota['calendar'], least: number, most: number): SoldQuota => ({
    ...{ units: draws.whole(least, most), calendar, isOfCosts: false },
  });
  const reserve = draws.whole(1, 5);
  const most = reserve * draws.whole(1, 4);
  const costs: SoldQuota = {
    units: reserve * draws.whole(20, 40),
    calendar: draws.one(['day', 'day', 'week', 'month']),
    isOfCosts: true,
  };
  const plans = [
    [count('day', 2, 9)],
    [count('day', 2, 6), count('week', 5, 9)],
    [count('month', 3, 9), count('day', 2, 6), count('week', 5, 9)],
    [costs],
    [count('day', 6, 20), costs],
    [count('week', 9, 30), costs, count('day', 6, 30)],
  ];
  const quotas = draws.one(plans);
  return {
    quotas,
    price: quotas.includes(costs) ? { reserve, most } : null,
    givesBack: draws.percent(50),
  };
}

/** The bucket as limits.yaml says it. */
function soldOf({ sold: { quotas, givesBack } }: World): object {
  const texts = quotas.map(({ units, calendar, isOfCosts }) => {
    const text = `${units}/${calendar}`;
    return isOfCosts ? { limit: text, unit: 'cost' } : text;
  });
  const user = texts.length === 1 ? texts[0] : texts;
  return { user, ...(givesBack && { give_back: ['5xx'] }) };
}

/** Decides what gateways demand of those who read, and returns it with further caps. */
function drawReading(world: World): World['reading'] & { readonly caps: object } {
  const draws = world.draws.part('reading');
  const mostRequests = draws.one([8, 8, 40]);
  world.reading = {
    clientReadMs: draws.one([8_000, 3_000]),
    minBytesPerS: draws.one([null, 240, 2_000]),
    bufferedBytes: draws.one([1, 1, 4, 64, 64]) * 1_048_576,
    maxStreams: draws.one([128, 16, 4]),
    mostRequests,
    hasTables: draws.percent(75),
    hasShared: world.sharing === null,
    hasOffences: world.sharing === null && draws.percent(25),
  };
  const caps = draws.percent(75) ? { requests_per_address: mostRequests } : {};
  return { ...world.reading, caps };
}

/** Adds a Redis that all gateways share, and returns how they find it. */
function share(world: World): object {
  const draws = world.draws.part('store');
  const redis = new WorldRedis(world);
  const policy = draws.one<'closed' | 'local' | 'open'>(['closed', 'local', 'open']);
  world.sharing = { redis, policy, counts: new SharedCounts(world, redis) };
  return { redis: redis.url, timeout: draws.one(['20ms', '50ms', '200ms']), on_failure: policy };
}

function quotaOf({ units, periodMs }: LimitRule): string {
  return `${units}/${periodMs / 1_000}s`;
}
