import { ENOUGH_FOR_A_PAGE, type Snapshot } from '../../config/index.ts';
import type * as core from '../../core/index.ts';

/** The first refusal of a class of callers by a global limit that no limits file names. */
interface DefaultRefusal {
  readonly callerClass: core.ClassName;
  /** The limit, such as `50/1s`. */
  readonly quota: string;
  /** When it happened, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** What the refusal means and which key to set, as a sentence for the operator. */
  readonly message: string;
}

/**
 * Notices refusals by a global limit that no limits file names. A page that loads many files can reach it, and no other message
 * names the key. Reports each class of callers once per process.
 */
export class DefaultRefusals {
  readonly #topic: core.Topic<DefaultRefusal>;
  readonly #clock: core.Clock;
  /** `null` in a worker: the main thread reports what any thread noticed. */
  readonly #listener: core.WarningListener | null;
  /** Bounded by the classes that were ever configured. */
  readonly #noticed = new Map<core.ClassName, DefaultRefusal>();

  constructor(
    part: Pick<core.ProcessPart, 'topic' | 'isMain'>,
    clock: core.Clock,
    listener: core.WarningListener,
  ) {
    this.#topic = part.topic('default limits', 'process');
    this.#clock = clock;
    this.#listener = part.isMain ? listener : null;
    this.#topic.join({ learn: refusal => this.#learn(refusal), everything: () => this.#noticed.values() });
  }

  /** Notes that the global limit of a class refused a request. */
  refused(callerClass: core.ClassName, { defaultLimits }: Pick<Snapshot, 'defaultLimits'>): void {
    const limit = this.#noticed.has(callerClass) ? null : defaultLimits.of(callerClass);
    if (limit === null) return;
    const { quota, key } = limit;
    const message = `the global limit of ${quota} refused a request, and no limits file names it: write "global: { ${key}: ${ENOUGH_FOR_A_PAGE} }" into limits.yaml, or what your clients need at once`;
    const refusal = { callerClass, quota, sinceMs: this.#clock.epochMs(), message };
    this.#learn(refusal);
    this.#topic.post(refusal);
  }

  /** The refusals whose limit this configuration does not name either. */
  reports({ defaultLimits }: Pick<Snapshot, 'defaultLimits'>): DefaultRefusal[] {
    return [...this.#noticed.values()].filter(({ callerClass }) => defaultLimits.of(callerClass) !== null);
  }

  #learn(refusal: DefaultRefusal): void {
    const { callerClass, quota, message } = refusal;
    if (this.#noticed.has(callerClass)) return;
    this.#noticed.set(callerClass, refusal);
    this.#listener?.warned({ type: 'limit', class: callerClass, quota }, message);
  }
}
