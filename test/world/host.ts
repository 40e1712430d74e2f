import type { System, TimerClock } from '../../src/core/index.ts';
import { Disk } from './files.ts';
import type { Draws } from './kernel/draws.ts';
import type { Kernel } from './kernel/kernel.ts';
import { connectionTable } from './network/connection-table.ts';
import { WorldNetwork } from './network/network.ts';
import type { Wires } from './network/wires.ts';

/** A process: what was set for it does not happen once it has died. */
export class Process {
  isAlive = true;
  /** When it began, in virtual time. */
  readonly bornMs: number;

  constructor(bornMs: number) {
    this.bornMs = bornMs;
  }
}

/** A machine: a name, an address, a disk, and clocks that may be wrong. */
export class Host {
  readonly name: string;
  readonly address: string;
  readonly disk: Disk;
  /** When it is by its wall clock at the beginning of the world, and the same after each step of that clock. */
  readonly wallOffsetsMs: number[];
  /** How many of its milliseconds pass in a true one. */
  readonly pace: number;
  readonly #kernel: Kernel;
  readonly #wires: Wires;
  readonly #draws: Draws;
  #processes = 0;

  constructor(name: string, address: string, kernel: Kernel, wires: Wires, pace = 1) {
    this.name = name;
    this.address = address;
    this.pace = pace;
    this.wallOffsetsMs = [kernel.epochMs() - kernel.timeline.nowMs];
    this.#kernel = kernel;
    this.#wires = wires;
    this.#draws = kernel.draws.part(`host ${name}`);
    this.disk = new Disk(kernel, this.#draws.part('disk'));
    wires.hosts.set(address, name);
  }

  /** Starts a process, and the world as it sees it. */
  start(): { readonly process: Process; readonly system: System; readonly network: WorldNetwork } {
    const process = new Process(this.#kernel.timeline.nowMs);
    const draws = this.#draws.part(`process ${++this.#processes}`);
    const network = new WorldNetwork(this.#wires, this, process, draws.part('network'));
    this.#wires.networks.set(process, network);
    const system = {
      clock: this.#clockOf(process),
      random: draws.part('random').random,
      randomBytes: draws.part('bytes').randomBytes,
      network: network.asNetwork,
      files: this.disk.filesOf(process),
    };
    return { process, system, network };
  }

  /** Has its system list connections as Linux does. */
  tellConnections(): void {
    const own = () => [...this.#wires.sockets].filter(({ host }) => host === this);
    this.disk.tell('/proc/net/tcp', () => connectionTable(own()));
  }

  /**
   * Ends a process at this moment.
   *
   * @param isSilent the machine goes too: nobody is told
   */
  kill(process: Process, isSilent: boolean): void {
    process.isAlive = false;
    for (const socket of [...this.#wires.sockets]) if (socket.owner === process) socket.abandon(isSilent);
    if (isSilent) this.disk.losePower();
  }

  /** Somebody sets its wall clock. */
  stepWall(byMs: number): void {
    this.wallOffsetsMs.push(this.#wallOffsetMs + byMs);
  }

  get #wallOffsetMs(): number {
    return this.wallOffsetsMs.at(-1) ?? 0;
  }

  #clockOf(process: Process): TimerClock {
    const { timeline } = this.#kernel;
    // Node.js takes anything below a millisecond for one. Less would let time stand still where what is left is a rounding error.
    const after = (ms: number, run: () => void) =>
      this.#kernel.after(Math.max(1, ms) / this.pace, process, run);
    return {
      epochMs: () => Math.floor(timeline.nowMs + this.#wallOffsetMs),
      monotonicMs: () => (timeline.nowMs - process.bornMs) * this.pace,
      after,
      every: (ms, run) => {
        const timer: { next: { run: unknown } } = { next: after(ms, () => again()) };
        const again = () => {
          timer.next = after(ms, () => again());
          run();
        };
        return timer;
      },
      cancel: timer => {
        if (timer === null) return;
        const { next } = timer as { next?: { run: unknown } };
        (next ?? (timer as { run: unknown })).run = null;
      },
      signalAfter: ms => {
        const aborted = new AbortController();
        after(ms, () =>
          aborted.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
        );
        return aborted.signal;
      },
    };
  }
}
