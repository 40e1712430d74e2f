import type { Clock } from '../../core/index.ts';

interface Entry {
  readonly payload: Record<string, unknown>;
  readonly expiresAtMs: number;
}

/** The maximum number of entries: beyond it the oldest go, so a demo that is left running does not grow. */
const MAX_ENTRIES = 10_000;

/**
 * Holds the codes, sessions, grants and tokens of oidc-provider. Unlike the library's own memory it can be passed to a
 * provider with other keys, and it does not warn at every start that it is not a database.
 *
 * @returns an `adapter` for the library's configuration
 */
export function memoryStore(clock: Clock): (model: string) => MemoryModel {
  const entries = new Map<string, Entry>();
  return model => new MemoryModel(model, entries, clock);
}

class MemoryModel {
  readonly #model: string;
  readonly #entries: Map<string, Entry>;
  readonly #clock: Clock;

  constructor(model: string, entries: Map<string, Entry>, clock: Clock) {
    this.#model = model;
    this.#entries = entries;
    this.#clock = clock;
  }

  async upsert(id: string, payload: Record<string, unknown>, expiresIn?: number): Promise<void> {
    const lifeMs = expiresIn === undefined ? Number.POSITIVE_INFINITY : expiresIn * 1_000;
    this.#entries.delete(this.#key(id));
    this.#entries.set(this.#key(id), { payload, expiresAtMs: this.#clock.epochMs() + lifeMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
  }

  async find(id: string): Promise<unknown> {
    const entry = this.#entries.get(this.#key(id));
    return entry !== undefined && entry.expiresAtMs > this.#clock.epochMs() ? entry.payload : undefined;
  }

  async findByUid(uid: string): Promise<unknown> {
    return this.#findBy('uid', uid);
  }

  async findByUserCode(userCode: string): Promise<unknown> {
    return this.#findBy('userCode', userCode);
  }

  async consume(id: string): Promise<void> {
    const entry = this.#entries.get(this.#key(id));
    if (entry !== undefined) entry.payload['consumed'] = Math.floor(this.#clock.epochMs() / 1_000);
  }

  async destroy(id: string): Promise<void> {
    this.#entries.delete(this.#key(id));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, { payload }] of this.#entries) {
      if (this.#owns(key) && payload['grantId'] === grantId) this.#entries.delete(key);
    }
  }

  #owns(key: string): boolean {
    return key.startsWith(`${this.#model}:`);
  }

  #key(id: string): string {
    return `${this.#model}:${id}`;
  }

  #findBy(member: string, value: string): unknown {
    for (const [key, { payload, expiresAtMs }] of this.#entries) {
      const alive = this.#owns(key) && expiresAtMs > this.#clock.epochMs();
      if (alive && payload[member] === value) return payload;
    }
    return undefined;
  }
}
