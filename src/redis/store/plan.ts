import { type Limit, type LimitRole, type LimitSet, NO_LIMITS } from '../../limits/index.ts';

/** What of a question to the script is the same for every request with these limits. */
export interface Plan {
  /** In the order in which they are asked. */
  readonly limits: readonly Limit[];
  /** As the scripts read them. */
  readonly text: string;
  /** Whether the last of them is a resource's. */
  readonly endsInResource: boolean;
}

/** Of a set: all in one, or what is the caller's and what is not by themselves, where a cluster keeps them apart. */
export interface Plans {
  readonly whole: Plan;
  readonly ofCaller: Plan;
  readonly ofResource: Plan;
}

const ROLES: readonly LimitRole[] = ['global', 'caller', 'resource'];

export class PlanTable {
  /** Weak, so that what belongs to a configuration goes with it. */
  readonly #plans = new WeakMap<LimitSet, Plans>();

  of(set: LimitSet): Plans {
    let plans = this.#plans.get(set);
    if (plans === undefined) {
      plans = {
        whole: planOf(set),
        ofCaller: planOf({ ...set, resource: null }),
        ofResource: planOf({ ...NO_LIMITS, resource: set.resource }),
      };
      this.#plans.set(set, plans);
    }
    return plans;
  }
}

function planOf(set: LimitSet): Plan {
  const limits = ROLES.map(role => set[role]).filter(limit => limit !== null);
  return { limits, text: textOf(limits), endsInResource: set.resource !== null };
}

/** As the scripts read limits. */
export function textOf(limits: readonly Limit[]): string {
  return JSON.stringify(
    limits.map(({ role, algorithm, units, periodMs, slackMs }) => ({
      role,
      smooth: algorithm === 'smooth',
      units,
      period: periodMs,
      slack: slackMs,
    })),
  );
}
