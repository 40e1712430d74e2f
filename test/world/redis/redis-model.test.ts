import { afterAll, beforeAll, expect, test } from 'vitest';
import { Random } from '../../support/random.ts';
import { runs, seedOfRun } from '../../support/runs.ts';
import { type Answers, type BothConnections, type BothRedis, startBoth } from './both-redis.ts';
import { GeneratedCommands } from './generated-commands.ts';
import { WEIR_SCRIPTS } from './weir-scripts.ts';

const HISTORIES = runs(20);
const STEPS = 400;

let both: BothRedis;
/** Of RESP2 and of RESP3. */
let connections: BothConnections[];
let hearing: BothConnections;
beforeAll(async () => {
  both = await startBoth(1_700_000_000_000_000);
  connections = [await both.connect(), await both.connect()];
  hearing = await both.connect();
  await connections[1]?.ask(['hello', 3]);
  await hearing.ask(['subscribe', 'board']);
});
afterAll(() => both.close());

/** What happens to both servers alike. */
const OCCASIONS: readonly ((both: BothRedis, random: Random) => Promise<void>)[] = [
  async ({ server, model }) => {
    await server.client.config('SET', 'maxmemory', model.isFull ? '0' : '1');
    model.isFull = !model.isFull;
  },
  async ({ server, model }) => {
    if (model.keys.isReplica) await server.client.replicaof('NO', 'ONE');
    else await server.client.replicaof('127.0.0.1', 1);
    model.isReplica = !model.keys.isReplica;
  },
  async ({ server, model }) => {
    const name = model.forbidden.size > 0 ? [] : ['set'];
    await server.client.call('acl', 'setuser', 'default', name.length > 0 ? '-set' : '+set');
    model.forbidden = new Set(name);
  },
  async ({ server, model }) => {
    await server.client.script('FLUSH');
    model.forgetScripts();
  },
];

async function wellAgain({ server, model }: BothRedis): Promise<void> {
  await server.client.config('SET', 'maxmemory', '0');
  await server.client.replicaof('NO', 'ONE');
  await server.client.call('acl', 'setuser', 'default', '+set');
  model.isFull = false;
  model.isReplica = false;
  model.forbidden = new Set();
}

function step(both: BothRedis, random: Random): void {
  const ms = random.pick([0, 0, 1, 3, 20, 100, 1_000, 31_000, 100_000]);
  const isBack = random.chance(0.02);
  both.nowUs += (isBack ? -40_000_000 : ms * 1_000) + random.below(1_000);
}

/** All keys with what they hold and until when. */
async function everything(connection: BothConnections): Promise<Answers[]> {
  const names = await connection.ask(['KEYS', '*']);
  const keys = names.model.split('\r\n').filter((_, at) => at >= 2 && at % 2 === 0);
  const kept: Answers[] = [{ real: sortedKeys(names.real), model: sortedKeys(names.model) }];
  for (const key of keys) {
    kept.push(await connection.ask(['PTTL', key]));
    const type = await connection.ask(['TYPE', key]);
    kept.push(type);
    const words = type.model.includes('zset') ? ['ZRANGE', key, 0, -1, 'WITHSCORES'] : ['GET', key];
    kept.push(await connection.ask(words));
  }
  return kept;
}

/** Redis lists keys in no order. */
function sortedKeys(reply: string): string {
  return reply.split('\r\n').sort().join(' ');
}

/** Versions of Lua name what is nil in other words. */
function inOneLua(reply: string): string {
  return reply.replace(/(user_script:\d+: attempt to )[^\r\n]*(?= script: )/, '$1');
}

async function play(seed: number): Promise<void> {
  const random = new Random(seed);
  await wellAgain(both);
  await connections[0]?.ask(['flushall']);
  for (const { source } of Object.values(WEIR_SCRIPTS)) await connections[0]?.ask(['script', 'load', source]);
  const commands = new GeneratedCommands(random, () => Math.floor(both.nowUs / 1_000));
  for (let at = 0; at < STEPS; at++) {
    step(both, random);
    if (random.chance(0.02)) await random.pick(OCCASIONS)(both, random);
    const words = commands.next();
    const { real, model } = await random.pick(connections).ask(words);
    expect(inOneLua(model), `seed ${seed}, step ${at}: ${words.join(' ')}`).toBe(inOneLua(real));
  }
  for (const { real, model } of await everything(random.pick(connections)))
    expect(model, `seed ${seed}, at the end`).toBe(real);
  // The messages, and the reply to this.
  const heard = await hearing.ask(['ping']);
  expect(heard.model).toBe(heard.real);
}

test('the model answers as Redis does', async () => {
  const seed = seedOfRun();
  for (let n = 0; n < HISTORIES; n++) await play(seed + n);
});

test('the model greets, authenticates and refuses as Redis does', async () => {
  await wellAgain(both);
  await both.server.client.config('SET', 'requirepass', 'pass');
  both.model.password = 'pass';
  const entering = await both.connect();
  for (const words of HANDSHAKES) {
    const { real, model } = await entering.ask(words);
    const plain = (text: string) => text.replace(/(\$2\r\nid\r\n:)\d+/, '$1');
    expect(plain(model), words.join(' ')).toBe(plain(real));
  }
  both.model.password = null;
  await both.server.client.config('SET', 'requirepass', '');
});

const HANDSHAKES = [
  ['get', 'a'],
  ['hello', '3'],
  ['hello', '4'],
  ['hello', 'x'],
  ['hello', '3', 'AUTH', 'default', 'wrong'],
  ['hello', '3', 'NONSENSE'],
  ['auth', 'wrong'],
  ['auth', 'other', 'pass'],
  ['auth', 'a', 'b', 'c'],
  ['auth', 'pass'],
  ['hello'],
  ['client', 'setname', 'weir'],
  ['client', 'SETINFO', 'LIB-NAME', 'ioredis'],
  ['subscribe', 'one', 'two'],
  ['get', 'a'],
  ['ping'],
  ['unsubscribe', 'one'],
  ['hello', '3', 'AUTH', 'default', 'pass', 'SETNAME', 'weir'],
  ['subscribe', 'three'],
  ['get', 'a'],
  ['publish', 'three', 'to myself'],
  ['unsubscribe', 'two', 'three'],
  ['unsubscribe'],
  ['select', '0'],
  ['hello', '2'],
];
