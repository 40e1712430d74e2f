import { Host } from './host.ts';
import type { WorldGateway } from './inhabitants/gateway.ts';
import type { Inhabitant } from './inhabitants/inhabitant.ts';
import type { WorldRedis } from './inhabitants/redis.ts';
import { Draws } from './kernel/draws.ts';
import { History } from './kernel/history.ts';
import { Kernel } from './kernel/kernel.ts';
import { Wires } from './network/wires.ts';
import { type Night, nightOf } from './night.ts';
import type { SharedCounts } from './oracles/shared-counts.ts';
import type { SoldQuotas } from './oracles/sold-quotas.ts';
import type { LimitRule } from './oracles/within-limits.ts';
import { Plan } from './plan.ts';
import { type RefreshToken, Requests, type Revocation, type SignInCode } from './requests.ts';
import { Troubles } from './troubles.ts';

/** What is wrong with a world, by the oracle that noticed it. */
export interface Finding {
  readonly oracle: string;
  readonly what: string;
  readonly atMs: number;
}

/** What gateways demand of those who read, and how much they may hold for them. */
interface Reading {
  /** `client_read`. */
  readonly clientReadMs: number;
  /** `min_read_rate`; `null`: off. */
  readonly minBytesPerS: number | null;
  /** `caps.buffered`. */
  readonly bufferedBytes: number;
  /** `http2.max_streams`. */
  readonly maxStreams: number;
  /** How many requests of one client may be in flight to the service that gives plenty, in all and to each of its upstreams. */
  readonly mostRequests: number;
  /** Whether the system of each gateway tells what clients have acknowledged. */
  readonly hasTables: boolean;
  /** Whether there is a limit that all share, of fewer than so many requests, and one of requests in flight. */
  readonly hasShared: boolean;
  /** Whether an address is restricted that is refused very often. */
  readonly hasOffences: boolean;
}

/** What all inhabitants share. */
export class World {
  readonly seed: number;
  readonly draws: Draws;
  readonly night: Night;
  readonly kernel: Kernel;
  readonly wires: Wires;
  readonly history: History;
  readonly plan = new Plan();
  readonly requests = new Requests();
  readonly gateways: WorldGateway[] = [];
  readonly inhabitants: Inhabitant[] = [];
  readonly troubles = new Troubles();
  readonly findings: Finding[] = [];
  /** What all gateways admit to a caller: in all (`null`: anything), and of the buckets `things` and `words`. */
  limits: { readonly global: LimitRule | null; readonly things: LimitRule; readonly words: LimitRule } = {
    global: null,
    things: { units: 1, periodMs: 1_000, algorithm: 'fixed' },
    words: { units: 1, periodMs: 1_000, algorithm: 'fixed' },
  };
  /** The quotas of the bucket `sold`, whose periods are those of the calendar. */
  sold: SoldQuotas = { quotas: [], price: null, givesBack: false };
  readonly revocations: Revocation[] = [];
  readonly codes: SignInCode[] = [];
  readonly refreshTokens: RefreshToken[] = [];
  /** How many threads each gateway serves with. */
  workers = 1;
  /** How many requests of one caller may be in flight for what is held for a while. */
  mostHeld = 1;
  /** Whether all faults are over. */
  isHealed = false;
  /** What gateways demand of those who read, and how much they may hold for them. */
  reading: Reading = {
    ...{ clientReadMs: 8_000, minBytesPerS: 240, bufferedBytes: 67_108_864, maxStreams: 128 },
    ...{ mostRequests: 40, hasTables: true },
    ...{ hasShared: false, hasOffences: false },
  };
  /** Whether gateways have a listener for gRPC alone. */
  listensForCalls = false;
  /** Whether gateways keep revocations over a restart. */
  keepsState = false;
  /** What the gateways share; `null`: each counts for itself. */
  sharing: {
    readonly redis: WorldRedis;
    readonly policy: 'closed' | 'local' | 'open';
    readonly counts: SharedCounts;
  } | null = null;
  /** What no log may hold. */
  readonly secrets = new Set<string>();
  #hosts = 0;

  constructor(seed: number, show: ((line: string) => void) | null) {
    this.seed = seed;
    this.draws = new Draws(`world ${seed}`);
    const night = this.draws.part('night');
    this.night = nightOf(night);
    this.kernel = new Kernel(
      this.draws.part('kernel'),
      Math.floor(this.night.momentMs - night.between(4_000, 28_000)),
    );
    this.wires = new Wires(this.kernel);
    this.history = new History(() => this.nowMs, show);
  }

  /** True time, in milliseconds since the world began. */
  get nowMs(): number {
    return this.kernel.timeline.nowMs;
  }

  /** Another machine. */
  host(name: string, pace = 1): Host {
    return new Host(name, `10.0.0.${++this.#hosts}`, this.kernel, this.wires, pace);
  }

  /** Something broke a rule. */
  wrong(oracle: string, what: string): void {
    this.findings.push({ oracle, what, atMs: this.nowMs });
    this.history.tell(`WRONG ${oracle}`, what);
  }

  /** Waits, for inhabitants whose work spans time. Only while the world runs. */
  pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      this.kernel.after(ms, this.kernel.current, resolve);
    });
  }
}
