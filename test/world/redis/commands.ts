import { type Command, Refusal, type Room, SYNTAX, textOf, unknown, wholeOf } from './command.ts';
import { fits, OK, type Reply, Simple } from './reply.ts';
import { SET_COMMANDS } from './set-commands.ts';
import { SortedSet } from './sorted-set.ts';

/** Until when a key with this lifetime is there. Redis counts in 64 bits. */
function endOf(room: Room, lifetime: bigint, unitMs: bigint, command: string): number {
  const end = BigInt(nowMsOf(room)) + lifetime * unitMs;
  if (!fits(lifetime * unitMs) || !fits(end))
    throw new Refusal(`ERR invalid expire time in '${command}' command`);
  return Number(end);
}

function nowMsOf(room: Room): number {
  return Math.floor(room.nowUs() / 1_000);
}

/** Options of Redis' SET that nobody here has needed yet. */
const OTHER_SET_OPTIONS = new Set(['XX', 'GET', 'KEEPTTL', 'EXAT', 'PXAT']);

function set(room: Room, [key = '', value = '', ...options]: readonly string[]): Reply {
  let expiresAtMs: (() => number) | null = null;
  let isNew = false;
  while (options.length > 0) {
    const option = options.shift()?.toUpperCase() ?? '';
    if (OTHER_SET_OPTIONS.has(option)) throw unknown(`SET ${option}`);
    if (option === 'NX') isNew = true;
    else if ((option === 'PX' || option === 'EX') && options.length > 0 && expiresAtMs === null) {
      const lifetime = options.shift();
      expiresAtMs = () => {
        const span = wholeOf(lifetime);
        if (span <= 0n) throw new Refusal("ERR invalid expire time in 'set' command");
        return endOf(room, span, option === 'EX' ? 1_000n : 1n, 'set');
      };
    } else throw new Refusal(SYNTAX);
  }
  const end = expiresAtMs?.() ?? null;
  if (isNew && room.keys.get(key) !== undefined) return null;
  room.keys.set(key, value, end);
  return OK;
}

function increment(room: Room, key: string, by: bigint): Reply {
  const text = textOf(room.keys.get(key));
  const sum = wholeOf(text ?? '0') + by;
  if (!fits(sum)) throw new Refusal('ERR increment or decrement would overflow');
  room.keys.set(key, `${sum}`, room.keys.expiresAtMs(key) ?? null);
  return sum;
}

function expire(unitMs: bigint, command: string): Command['run'] {
  return (room, [key = '', lifetime, ...options]) => {
    const span = wholeOf(lifetime);
    if (options.length > 0) throw unknown(`${command} ${options[0]}`);
    const end = endOf(room, span, unitMs, command);
    const value = room.keys.get(key);
    if (value === undefined) return 0;
    if (end <= nowMsOf(room)) room.keys.delete(key);
    else room.keys.set(key, value, end);
    return 1;
  };
}

function pttl(room: Room, [key = '']: readonly string[]): Reply {
  const expiresAtMs = room.keys.expiresAtMs(key);
  if (expiresAtMs === undefined) return -2;
  return expiresAtMs === null ? -1 : Math.max(0, expiresAtMs - nowMsOf(room));
}

function time(room: Room): Reply {
  const us = room.nowUs();
  return [`${Math.floor(us / 1e6)}`, `${us % 1e6}`];
}

function typeOf(room: Room, [key = '']: readonly string[]): Reply {
  const value = room.keys.get(key);
  return new Simple(value === undefined ? 'none' : value instanceof SortedSet ? 'zset' : 'string');
}

/** Knows patterns that end with the one star that they have. */
function keys(room: Room, [pattern = '']: readonly string[]): Reply {
  if (!/^[^*?[\\]*\*$/.test(pattern)) throw unknown(`KEYS ${pattern}`);
  return room.keys.names().filter(name => name.startsWith(pattern.slice(0, -1)));
}

function flush(room: Room): Reply {
  room.keys.clear();
  return OK;
}

/** What Weir sends, by itself and in its scripts, and what its tests ask. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  ...SET_COMMANDS,
  ['get', { words: 2, run: (room, [key = '']) => textOf(room.keys.get(key)) ?? null }],
  ['set', { words: -3, writes: true, takesMemory: true, run: set }],
  [
    'del',
    { words: -2, writes: true, run: (room, names) => names.filter(name => room.keys.delete(name)).length },
  ],
  [
    'incr',
    { words: 2, writes: true, takesMemory: true, run: (room, [key = '']) => increment(room, key, 1n) },
  ],
  [
    'incrby',
    {
      words: 3,
      writes: true,
      takesMemory: true,
      run: (room, [key = '', by]) => increment(room, key, wholeOf(by)),
    },
  ],
  ['expire', { words: -3, writes: true, run: expire(1_000n, 'expire') }],
  ['pexpire', { words: -3, writes: true, run: expire(1n, 'pexpire') }],
  ['pttl', { words: 2, run: pttl }],
  ['time', { words: 1, run: time }],
  ['type', { words: 2, run: typeOf }],
  ['keys', { words: 2, run: keys }],
  ['dbsize', { words: 1, run: room => room.keys.names().length }],
  ['flushall', { words: -1, writes: true, run: flush }],
  ['publish', { words: 3, run: (room, [channel = '', text = '']) => room.publish(channel, text) }],
]);
