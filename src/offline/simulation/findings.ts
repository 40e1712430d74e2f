import type { LimitRouteModel, LimitsModel } from '../../config/index.ts';
import { KnownPaths } from './known-paths.ts';
import { MAX_INSTANCES } from './limit-engine.ts';
import type { LogEvent, LoggedRequest, ReadCounts } from './log/index.ts';
import { mergeLogs, newReadCounts, ReplayError, Returns } from './log/index.ts';

export type FoundInLogs = Findings['found'] & { readonly counts: ReadCounts };

/** Counts and notes made for every request in the logs, whether they are replayed or measured. */
export class Findings {
  /** The limits under test, with a route table that remembers the paths of the logs. */
  readonly limits: LimitsModel;
  readonly paths: KnownPaths<LimitRouteModel>;
  /** Requests that would get 400 because the value of their main parameter is ambiguous. */
  ambiguous = 0;
  /** Requests left out in addition to those in `ReadCounts`: refused by a restriction or a block. */
  early = 0;
  /**
   * Classes and claims in the limits that no request so far has had: `class partner`, `claim organization`. A log contains only
   * those of the configuration that wrote it, so limits for them cannot be tested with these logs.
   */
  readonly #unseen: Set<string>;
  readonly #instances = new Set<string>();
  readonly #keys = new Set<string>();
  #keyId = '';

  constructor(limits: LimitsModel) {
    this.paths = new KnownPaths(limits.routes);
    this.limits = { ...limits, routes: this.paths };
    const { global, buckets, claims } = limits;
    const names = [global, ...buckets.map(({ sets }) => sets)].flatMap(({ names }) => names);
    const { groups, numbers } = claims?.names ?? { groups: [], numbers: [] };
    this.#unseen = new Set([
      ...names.map(name => `class ${name}`),
      ...[...groups, ...numbers].map(claim => `claim ${claim}`),
    ]);
  }

  get found() {
    const { ambiguous, early, paths } = this;
    const instances = this.#instances.size;
    const unseen = [...this.#unseen];
    return { instances, shapes: paths.shapes, ambiguous, early, unseen };
  }

  /**
   * Notes the gateway of a request. Accepts a new key of pseudonyms: a gateway without a key file makes one at each start. Rejects
   * a key that reappears after another: then two gateways wrote with different keys at the same time.
   */
  noteGateway({ keyId, instance }: LoggedRequest): void {
    if (this.#instances.size < MAX_INSTANCES) this.#instances.add(instance);
    if (keyId === this.#keyId) return;
    if (this.#keys.has(keyId) || this.#keys.size >= MAX_INSTANCES)
      throw new ReplayError(
        'these logs have no common pseudonym key: the same caller has another name in each, so its requests cannot be counted together. Replay each log alone, and give all gateways one log.pseudonym_key_file',
      );
    this.#keys.add(keyId);
    this.#keyId = keyId;
  }

  noteCaller({ callerClass, claimed }: LoggedRequest): void {
    if (this.#unseen.size === 0) return;
    this.#unseen.delete(`class ${callerClass}`);
    if (claimed === null) return;
    for (const claim of [...claimed.groups.keys(), ...claimed.numbers.keys()])
      this.#unseen.delete(`claim ${claim}`);
  }
}

export interface ReadOptions {
  readonly limits: LimitsModel;
  readonly logs: readonly string[];
  /** Called periodically. */
  readonly onProgress?: (counts: ReadCounts) => void;
}

/** Passes on the events of the logs in chronological order. `withEnds`: the ends of requests as well. */
export async function readEvents(
  { limits, logs, onProgress }: ReadOptions,
  take: (event: LogEvent) => void,
  returns = new Returns(limits),
  withEnds = false,
): Promise<ReadCounts> {
  const counts = newReadCounts();
  const { keying } = limits;
  for await (const events of mergeLogs(logs, counts, { withEnds, keying, returns })) {
    for (const event of events) take(event);
    onProgress?.(counts);
  }
  return counts;
}
