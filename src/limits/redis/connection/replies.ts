import { FORMAT } from '../options.ts';
import { RedisError } from './redis-connection.ts';

/** How many bits of the first number of a reply are the script's own. A decision uses them all: see `REPLY`. */
const OWN_BITS = 25;

/** The first number of every reply that a gateway reads numbers from, but for the script's own bits. */
export const REPLY_FORMAT = FORMAT << OWN_BITS;

/**
 * Reads what a script has returned. A reply of another format is an error, so that none of its numbers is taken for another.
 *
 * @param script its name in errors
 */
export function readReply(reply: unknown, script: string): readonly unknown[] | RedisError {
  const first: unknown = Array.isArray(reply) ? reply[0] : undefined;
  if (!Array.isArray(reply) || !isWhole(first)) return unexpectedReply(script);
  const format = Math.floor(first / 2 ** OWN_BITS);
  if (format === FORMAT) return reply;
  const text = `Redis gave a reply of format ${format} to the ${script} script, and this gateway reads format ${FORMAT}`;
  return new RedisError('error', text);
}

/** The same where all are numbers, for a script with at least `least` of them. */
export function readNumbers(reply: unknown, script: string, least = 1): readonly number[] | RedisError {
  const items = readReply(reply, script);
  if (items instanceof RedisError) return items;
  return items.length >= least && items.every(isWhole) ? items : unexpectedReply(script);
}

export function unexpectedReply(script: string): RedisError {
  return new RedisError('error', `Redis gave an unexpected reply to the ${script} script`);
}

function isWhole(item: unknown): item is number {
  return Number.isSafeInteger(item);
}
