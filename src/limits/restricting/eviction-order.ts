import { Heap, type Placed } from './heap.ts';

/** What a full table may have to give up. */
export interface Member extends Placed {
  /** Names the network of its client; those without one stand together under ''. */
  readonly network: string;
  readonly untilMs: number;
}

interface Network<T extends Member> extends Placed {
  readonly members: Heap<T>;
}

/**
 * Says what gives way in a full table: of the network that holds most, what is nearest its end. So one network's flood takes
 * places from itself.
 */
export class EvictionOrder<T extends Member> {
  readonly #networks = new Map<string, Network<T>>();
  readonly #crowded = new Heap<Network<T>>(isMoreCrowded);

  /** Undefined: there is nothing. */
  get first(): T | undefined {
    return this.#crowded.first?.members.first;
  }

  add(member: T): void {
    const known = this.#networks.get(member.network);
    if (known !== undefined) {
      known.members.add(member);
      this.#crowded.update(known);
    } else {
      const network = { members: new Heap<T>(endsBefore, member), place: 0 };
      this.#networks.set(member.network, network);
      this.#crowded.add(network);
    }
  }

  /** `member`: one that was added. */
  delete(member: T): void {
    const network = this.#networks.get(member.network);
    if (network === undefined) return;
    network.members.delete(member);
    if (network.members.size > 0) this.#crowded.update(network);
    else {
      this.#networks.delete(member.network);
      this.#crowded.delete(network);
    }
  }
}

function endsBefore(one: Member, other: Member): boolean {
  return one.untilMs < other.untilMs;
}

function isMoreCrowded<T extends Member>(
  { members: one }: Network<T>,
  { members: other }: Network<T>,
): boolean {
  if (one.size !== other.size) return one.size > other.size;
  return (one.first?.untilMs ?? 0) < (other.first?.untilMs ?? 0);
}
