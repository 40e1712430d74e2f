import { type Limit, type LimitRole, type LimitSet, NO_LIMITS } from '../../limits/index.ts';

/** The part of a call to the script that is the same for every request with these limits. */
export interface Plan {
  /** In the order in which the script checks them. */
  readonly limits: readonly Limit[];
  /** The limits as JSON for the script. */
  readonly text: string;
  /** Whether the last one is a resource limit. */
  readonly endsInResource: boolean;
}

/** The plans of a set: one for all limits, or one each for the caller's and the resource's, which a cluster keeps apart. */
export interface Plans {
  readonly whole: Plan;
  readonly ofCaller: Plan;
  readonly ofResource: Plan;
}

const ROLES: readonly LimitRole[] = ['global', 'caller', 'resource'];

export class PlanTable {
  /** Weak, so that entries go with their configuration. */
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

/** Limits as JSON for the scripts. */
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
