import { digestOfWhom, type Entry, isHeld } from './entry.ts';
import {
  type Client,
  RESTRICTION_TABLES,
  type Restricted,
  type RestrictionReason,
  type RestrictionTableName,
  tableOf,
} from './restriction.ts';
import { RestrictionTable } from './restriction-table.ts';
import { SparedClients } from './spared-clients.ts';

const PLACES: Readonly<Record<RestrictionTableName, number>> = {
  operator: 10_000,
  principal: 50_000,
  address: 100_000,
  webhook: 50_000,
};

/** All restrictions, in their tables. A client may have two: an automatic one, and beside it an operator's. */
export class RestrictionTables {
  /** In the order in which operators are shown them. */
  readonly all: readonly RestrictionTable[];
  readonly spared = new SparedClients();
  readonly #byName: Readonly<Record<RestrictionTableName, RestrictionTable>>;

  constructor({ operator, principal, address, webhook } = PLACES) {
    this.#byName = {
      operator: new RestrictionTable(operator),
      principal: new RestrictionTable(principal),
      address: new RestrictionTable(address),
      webhook: new RestrictionTable(webhook),
    };
    this.all = RESTRICTION_TABLES.map(name => this.#byName[name]);
  }

  named(name: RestrictionTableName): RestrictionTable {
    return this.#byName[name];
  }

  of(restricted: Pick<Restricted, 'kind' | 'reason'>): RestrictionTable {
    return this.#byName[tableOf(restricted)];
  }

  withDigest(digest: string): Entry[] {
    return this.all.flatMap(table => table.withDigest(digest) ?? []);
  }

  /** Those that refuse a client here. */
  get size(): number {
    return this.#withoutSpared(this.all.reduce((sum, { size }) => sum + size, 0));
  }

  /** Those of other gateways whose clients have not been seen here. */
  get unmet(): number {
    return this.#withoutSpared(this.all.reduce((sum, { unmet }) => sum + unmet, 0));
  }

  /** Removes one. */
  delete(entry: Entry): void {
    this.of(entry).delete(entry);
    this.spared.forget(entry.digest);
  }

  /** The reason of what ends last, for a client that is restricted and has been seen here. */
  reasonFor({ kind, key }: Client): RestrictionReason {
    const automatic = this.#byName[kind].held(kind, key, '');
    const own = this.#byName.operator.held(kind, key, '');
    return automatic !== undefined && automatic.untilMs > (own?.untilMs ?? 0) ? automatic.reason : 'operator';
  }

  /** Sets the clients that are never restricted here. */
  spare(named: Iterable<Client>): void {
    this.spared.setNamed(new Set(Array.from(named, client => digestOfWhom({ ...client, webhook: '' }))));
  }

  #withoutSpared(count: number): number {
    if (count === 0) return 0;
    let spared = 0;
    for (const digest of this.spared.all())
      spared += this.withDigest(digest).filter(entry => !isHeld(entry)).length;
    return count - spared;
  }
}
