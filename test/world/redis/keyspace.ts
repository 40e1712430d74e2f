import { SortedSet } from './sorted-set.ts';

export type Value = string | SortedSet;

interface Entry {
  readonly value: Value;
  /** By the clock of the server; `null`: never. */
  readonly expiresAtMs: number | null;
}

/** How many changes can be taken back. */
const MAX_CHANGES = 1_000;

/**
 * The keys of a server. Remembers its last changes, one for each command or script, so that a replica that lacks them can take its
 * place. A key that is over is deleted when it is looked at, as Redis deletes it at the latest.
 */
export class Keyspace {
  readonly #entries = new Map<string, Entry>();
  readonly #nowMs: () => number;
  /** For each change, what takes it back, the last step first. */
  readonly #changes: (() => void)[][] = [];
  #change: (() => void)[] = [];
  /** A replica leaves deleting to its master: a key that is over is not to be seen, and is there again if the clock steps back. */
  isReplica = false;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The keys that are not over, in the order of their bytes. */
  names(): string[] {
    return [...this.#entries.keys()].filter(key => this.#find(key) !== undefined).sort();
  }

  get(key: string): Value | undefined {
    return this.#find(key)?.value;
  }

  /** `undefined`: there is no such key. */
  expiresAtMs(key: string): number | null | undefined {
    return this.#find(key)?.expiresAtMs;
  }

  set(key: string, value: Value, expiresAtMs: number | null): void {
    this.#put(key, { value, expiresAtMs });
  }

  /** Deletes a key, and tells whether there was one. */
  delete(key: string): boolean {
    if (this.#find(key) === undefined) return false;
    this.#put(key, undefined);
    return true;
  }

  /** Gives a member of a set a score, or takes it out; a set without members is no more. */
  score(key: string, member: string, score: number | undefined): void {
    const found = this.get(key);
    const members = found instanceof SortedSet ? found : new SortedSet();
    if (found === undefined) this.set(key, members, null);
    const before = members.score(member);
    this.#change.push(() => members.put(member, before));
    members.put(member, score);
    if (members.size === 0) this.delete(key);
  }

  clear(): void {
    for (const key of [...this.#entries.keys()]) this.#put(key, undefined);
  }

  /** Ends a change: what was done since the last one stands or falls together. */
  commit(): void {
    if (this.#change.length === 0) return;
    this.#changes.push(this.#change.reverse());
    this.#change = [];
    if (this.#changes.length > MAX_CHANGES) this.#changes.shift();
  }

  /** Takes back the last changes. */
  undo(changes: number): void {
    for (let i = 0; i < changes; i++) for (const step of this.#changes.pop() ?? []) step();
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAtMs === null || this.#nowMs() <= entry.expiresAtMs) return entry;
    if (!this.isReplica) this.#put(key, undefined);
    return undefined;
  }

  #put(key: string, entry: Entry | undefined): void {
    const before = this.#entries.get(key);
    this.#change.push(() => this.#place(key, before));
    this.#place(key, entry);
  }

  #place(key: string, entry: Entry | undefined): void {
    if (entry === undefined) this.#entries.delete(key);
    else this.#entries.set(key, entry);
  }
}
