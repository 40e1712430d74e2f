import {
  type Limit,
  type LimitRole,
  type LimitSet,
  type LimitsByRole,
  NO_LIMITS,
} from '../../limits/index.ts';

/** The part of a call to the script that is the same for every request with these limits. */
export interface Plan {
  /** In the order in which the script checks them: those in shadow come last. */
  readonly limits: readonly Limit[];
  /** The limits as JSON for the script. */
  readonly text: string;
  /** Whether one of those that hold is a resource limit. */
  readonly hasResource: boolean;
  /** Those in shadow, in their order. */
  readonly shadow: readonly LimitRole[];
}

/** The plans of a set: one for all limits, or one each for the caller's and every resource limit, which a cluster keeps apart. */
export interface Plans {
  readonly whole: Plan;
  readonly ofCaller: Plan;
  /** The one that holds, then the one in shadow. */
  readonly ofResources: readonly Plan[];
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
        ofCaller: planOf({ ...set, resource: null, shadow: set.shadow && { ...set.shadow, resource: null } }),
        ofResources: [
          planOf({ ...NO_LIMITS, resource: set.resource }),
          planOf({ ...NO_LIMITS, shadow: set.shadow && { ...NO_LIMITS, resource: set.shadow.resource } }),
        ].filter(({ limits }) => limits.length > 0),
      };
      this.#plans.set(set, plans);
    }
    return plans;
  }
}

function planOf(set: LimitSet): Plan {
  const held = limitsIn(set);
  const inShadow = set.shadow === null ? [] : limitsIn(set.shadow);
  const limits = [...held, ...inShadow];
  return {
    limits,
    text: textOf(limits, held.length),
    hasResource: set.resource !== null,
    shadow: inShadow.map(({ role }) => role),
  };
}

function limitsIn(limits: LimitsByRole): Limit[] {
  return ROLES.map(role => limits[role]).filter(limit => limit !== null);
}

/** Limits as JSON for the scripts. Those from `held` on are in shadow. */
export function textOf(limits: readonly Limit[], held = limits.length): string {
  return JSON.stringify(
    limits.map(({ role, algorithm, units, periodMs, slackMs }, at) => ({
      role,
      smooth: algorithm === 'smooth',
      units,
      period: periodMs,
      slack: slackMs,
      shadow: at >= held ? true : undefined,
    })),
  );
}
