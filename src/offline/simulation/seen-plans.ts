import type { LimitsModel } from '../../config/index.ts';
import type { LoggedRequest } from './log/index.ts';

/**
 * Finds classes and claims that limits name but no request in the logs has. Limits for them cannot be tested with these logs: a
 * log has only the classes and claims of the configuration that wrote it.
 */
export class SeenPlans {
  /** Those that no request had so far: `class partner`, `claim organization`. */
  readonly #unseen: Set<string>;

  constructor({ global, buckets, claims }: LimitsModel) {
    const names = [global, ...buckets.map(({ sets }) => sets)].flatMap(({ names }) => names);
    const { groups, numbers } = claims?.names ?? { groups: [], numbers: [] };
    this.#unseen = new Set([
      ...names.map(name => `class ${name}`),
      ...[...groups, ...numbers].map(claim => `claim ${claim}`),
    ]);
  }

  note({ callerClass, claimed }: LoggedRequest): void {
    if (this.#unseen.size === 0) return;
    this.#unseen.delete(`class ${callerClass}`);
    if (claimed === null) return;
    for (const claim of claimed.groups.keys()) this.#unseen.delete(`claim ${claim}`);
    for (const claim of claimed.numbers.keys()) this.#unseen.delete(`claim ${claim}`);
  }

  get unseen(): readonly string[] {
    return [...this.#unseen];
  }
}
