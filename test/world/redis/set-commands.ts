import { type Command, membersOf, Refusal, type Room, SYNTAX, unknown, wholeOf } from './command.ts';
import { Double, Pairs, type Reply, readDouble } from './reply.ts';
import type { Bound } from './sorted-set.ts';

function boundOf(text = ''): Bound {
  const isExclusive = text.startsWith('(');
  // Unlike a score, an end of a range may begin with spaces, and nothing is 0.
  const number = (isExclusive ? text.slice(1) : text).trimStart();
  const score = number === '' ? 0 : readDouble(number);
  if (score === null) throw new Refusal('ERR min or max is not a float');
  return { score, isExclusive };
}

function inRange(room: Room, [key = '', from, to]: readonly string[]): string[] {
  const [low, high] = [boundOf(from), boundOf(to)];
  return membersOf(room, key)?.range(low, high) ?? [];
}

const OTHER_ADD_OPTIONS = new Set(['NX', 'GT', 'LT', 'CH', 'INCR']);

function add(room: Room, [key = '', ...words]: readonly string[]): Reply {
  const first = words[0]?.toUpperCase() ?? '';
  if (OTHER_ADD_OPTIONS.has(first)) throw unknown(`ZADD ${first}`);
  const onlyKnown = first === 'XX';
  const pairs = onlyKnown ? words.slice(1) : words;
  if (pairs.length === 0 || pairs.length % 2 === 1) throw new Refusal(SYNTAX);
  const scores = pairs.filter((_, at) => at % 2 === 0).map(scoreOf);
  const members = membersOf(room, key);
  let added = 0;
  for (const [at, score] of scores.entries()) {
    const member = pairs[2 * at + 1] ?? '';
    const before = members?.score(member) ?? membersOf(room, key)?.score(member);
    if (before === undefined && onlyKnown) continue;
    if (before === undefined) added++;
    if (before !== score) room.keys.score(key, member, score);
  }
  return added;
}

function scoreOf(text: string): number {
  const score = readDouble(text);
  if (score === null) throw new Refusal('ERR value is not a valid float');
  return score;
}

function remove(room: Room, key: string, members: readonly string[]): number {
  let removed = 0;
  for (const member of members) {
    if (membersOf(room, key)?.score(member) === undefined) continue;
    room.keys.score(key, member, undefined);
    removed++;
  }
  return removed;
}

function score(room: Room, [key = '', member = '']: readonly string[]): Reply {
  const found = membersOf(room, key)?.score(member);
  return found === undefined ? null : new Double(found);
}

function rangeByScore(room: Room, [key = '', from, to, ...options]: readonly string[]): Reply {
  const bounds = [key, from ?? '', to ?? ''];
  for (const bound of bounds.slice(1)) boundOf(bound);
  let [offset, count] = [0, -1];
  while (options.length > 0) {
    const option = options.shift()?.toUpperCase();
    if (option === 'WITHSCORES') throw unknown('ZRANGEBYSCORE WITHSCORES');
    if (option !== 'LIMIT' || options.length < 2) throw new Refusal(SYNTAX);
    offset = Number(wholeOf(options.shift()));
    count = Number(wholeOf(options.shift()));
  }
  const found = inRange(room, bounds);
  return offset < 0 ? [] : found.slice(offset, count < 0 ? undefined : offset + count);
}

/** Knows all members, or the last one, without or with their scores. */
function range(room: Room, [key = '', first = '', last, scores, ...more]: readonly string[]): Reply {
  const hasScores = scores?.toUpperCase() === 'WITHSCORES';
  if (
    !['0', '-1'].includes(first) ||
    last !== '-1' ||
    more.length > 0 ||
    (scores !== undefined && !hasScores)
  )
    throw unknown('other ZRANGEs than 0 -1 and -1 -1');
  const entries = membersOf(room, key)?.entries().slice(Number(first)) ?? [];
  return hasScores ? new Pairs(entries) : entries.map(([member]) => member);
}

export const SET_COMMANDS: readonly [string, Command][] = [
  ['zadd', { words: -4, writes: true, takesMemory: true, run: add }],
  ['zrem', { words: -3, writes: true, run: (room, [key = '', ...members]) => remove(room, key, members) }],
  ['zcard', { words: 2, run: (room, [key = '']) => membersOf(room, key)?.size ?? 0 }],
  ['zcount', { words: 4, run: (room, args) => inRange(room, args).length }],
  ['zscore', { words: 3, run: score }],
  ['zrangebyscore', { words: -4, run: rangeByScore }],
  ['zrange', { words: -4, run: range }],
  [
    'zremrangebyscore',
    { words: 4, writes: true, run: (room, args) => remove(room, args[0] ?? '', inRange(room, args)) },
  ],
];
