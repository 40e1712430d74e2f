import type { Limit, LimitRole, LimitSet } from '../limits/index.ts';

/** What of a question to the script is the same for every request with these limits. */
export interface Plan {
  /** In the order in which they are asked. */
  readonly limits: readonly Limit[];
  /** First letters of their roles. */
  readonly roles: string;
  /** Four for each limit. */
  readonly args: readonly string[];
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
        ofResource: planOf({ global: null, caller: null, resource: set.resource }),
      };
      this.#plans.set(set, plans);
    }
    return plans;
  }
}

function planOf(set: LimitSet): Plan {
  const limits = ROLES.map(role => set[role]).filter(limit => limit !== null);
  return { limits, roles: limits.map(({ role }) => role.charAt(0)).join(''), args: limits.flatMap(argsOf) };
}

/** As the scripts read a limit. */
export function argsOf({ algorithm, units, periodMs, slackMs }: Limit): string[] {
  return [algorithm.charAt(0), String(units), String(periodMs), String(slackMs)];
}
