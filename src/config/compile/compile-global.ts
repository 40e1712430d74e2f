import { defineLimit, type Limit, type LimitSet, type Quota } from '../../limits/index.ts';
import type { CallerClass } from '../model/index.ts';
import type { LimitsConfig } from '../schema/index.ts';

export type PerClass<T> = Readonly<Record<CallerClass, T>>;

export function ofEachClass<T>(make: (callerClass: CallerClass) => T): PerClass<T> {
  return { bot: make('bot'), user: make('user'), address: make('address') };
}

/** The global limit of a class: the one that holds, and the one in shadow. */
export interface GlobalLimits {
  readonly held: Limit | null;
  readonly shadow: Limit | null;
}

const OFF: GlobalLimits = { held: null, shadow: null };

export function compileGlobal({ global, window_slack: windowSlackMs }: LimitsConfig): PerClass<GlobalLimits> {
  const limitOf = (quota: Quota | null | undefined, isTrial: boolean): Limit | null => {
    if (quota === null || quota === undefined) return null;
    const algorithm = 'window';
    return defineLimit({ role: 'global', bucket: '', main: null, algorithm, quota, windowSlackMs, isTrial });
  };
  return ofEachClass(callerClass => {
    if (global === 'off') return OFF;
    const written = limitOf(global[callerClass], false);
    const { shadow } = global;
    if (typeof shadow === 'boolean')
      return shadow ? { held: null, shadow: written } : { held: written, shadow: null };
    return { held: written, shadow: limitOf(shadow[callerClass], true) };
  });
}

/** Adds the global limit to a set. */
export function withGlobal(set: LimitSet, { held, shadow }: GlobalLimits): LimitSet {
  if (shadow === null) return { ...set, global: held };
  return { ...set, global: held, shadow: { caller: null, resource: null, ...set.shadow, global: shadow } };
}
