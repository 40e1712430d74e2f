import type { Keyspace, Value } from './keyspace.ts';
import { Failure, type Reply, readInteger } from './reply.ts';
import { SortedSet } from './sorted-set.ts';

/** What a command works with. */
export interface Room {
  readonly keys: Keyspace;
  /** Microseconds by the clock of the server. */
  nowUs(): number;
  /** Sends a message to all who have subscribed to this channel, and counts them. */
  publish(channel: string, text: string): number;
}

export interface Command {
  /** How many words it has, its name included; below zero: at least so many. */
  readonly words: number;
  readonly writes?: true;
  /** Redis refuses it when memory is full. */
  readonly takesMemory?: true;
  run(room: Room, args: readonly string[]): Reply;
}

/** Thrown by a command: Redis refuses it with these words. */
export class Refusal extends Error {}

export const SYNTAX = 'ERR syntax error';
const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

/** Says what the model lacks, so that no test takes its word for it. */
export function unknown(what: string): Error {
  return new Error(`the model of Redis does not know ${what}`);
}

export function wholeOf(text: string | undefined): bigint {
  const value = readInteger(text ?? '');
  if (value === null) throw new Refusal('ERR value is not an integer or out of range');
  return value;
}

export function textOf(value: Value | undefined): string | undefined {
  if (value instanceof SortedSet) throw new Refusal(WRONG_TYPE);
  return value;
}

export function membersOf(room: Room, key: string): SortedSet | undefined {
  const value = room.keys.get(key);
  if (value === undefined || value instanceof SortedSet) return value;
  throw new Refusal(WRONG_TYPE);
}

/** Runs a command that is known and may run: what Redis refuses is a reply as well. */
export function runCommand(room: Room, command: Command, args: readonly string[]): Reply {
  try {
    return command.run(room, args);
  } catch (error) {
    if (error instanceof Refusal) return new Failure(error.message);
    throw error;
  }
}

export function hasItsWords({ words }: Pick<Command, 'words'>, count: number): boolean {
  return words < 0 ? count >= -words : count === words;
}
