import { systemClock } from '../../../src/core/index.ts';
import {
  type RedisConnection,
  type RedisScript,
  Replicas,
} from '../../../src/limits/redis/connection/index.ts';
import { missingRightsAt } from '../../../src/limits/redis/connection/rights.ts';
import { POST, READ } from '../../../src/limits/redis/sharing/board-scripts.ts';
import { RedisClaims, RedisOffenceFeed } from '../../../src/limits/redis/sharing/index.ts';
import * as counters from '../../../src/limits/redis/store/counter-scripts.ts';

type RunsScripts = Pick<RedisConnection, 'prefix' | 'script'>;

/** The script that somebody runs. */
function scriptOf(use: (connection: RunsScripts) => unknown): RedisScript {
  const asked: RedisScript[] = [];
  use({
    prefix: '',
    script(script) {
      asked.push(script);
      return new Promise(() => {});
    },
  });
  const [script] = asked;
  if (script === undefined) throw new Error('no script was run');
  return script;
}

const OFFENCE = {
  kind: 'address',
  reason: 'invalid_requests',
  key: 'address:192.0.2.1',
  webhook: '',
} as const;
const RULE = { quota: { units: 1, periodMs: 1_000 }, restrictForMs: 1_000 };
const health = { isShared: true, mention: () => {} };

function feedOn(connection: RunsScripts): RedisOffenceFeed {
  return new RedisOffenceFeed({ connection, health, clock: systemClock, exceeded: () => {} });
}

/** Every script that Weir runs. */
export const WEIR_SCRIPTS = {
  decide: counters.DECIDE,
  refund: counters.REFUND,
  hold: counters.HOLD,
  post: POST,
  read: READ,
  claim: scriptOf(connection => new RedisClaims({ connection, health, policy: 'local' }).claim('name', 1)),
  tryRights: scriptOf(connection => missingRightsAt(connection, '0')),
  beat: scriptOf(connection =>
    new Replicas(connection as RedisConnection, { clock: systemClock, id: 'id', hint: 1 }).beat(),
  ),
  addOffences: scriptOf(connection => {
    const feed = feedOn(connection);
    feed.note(OFFENCE, RULE);
    return feed.flush();
  }),
  forgetOffences: scriptOf(connection => feedOn(connection).forget(OFFENCE, RULE)),
} satisfies Readonly<Record<string, RedisScript>>;
