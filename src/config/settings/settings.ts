import { z } from 'zod';
import type { Clock, Machine, Steps } from '../../core/index.ts';
import { asMap, type ConfigFile, isMap } from '../file/index.ts';
import { limitsSchema } from '../limits/index.ts';
import type { OwnRoute } from '../model/index.ts';
import { type Intersection, keysOf } from '../policies/index.ts';
import type { RouteEntry } from '../routing/index.ts';
import { secrecyOf } from '../values/index.ts';
import { caps } from './caps.ts';
import { cors } from './cors.ts';
import { errorPages } from './error-pages.ts';
import { forwardingHeaders } from './forwarding-headers.ts';
import { http2 } from './http2.ts';
import { identity } from './identity.ts';
import { limits } from './limits.ts';
import { listen } from './listen.ts';
import { log } from './log.ts';
import { memoryDefaults } from './memory.ts';
import { metrics } from './metrics.ts';
import { minReadRate } from './min-read-rate.ts';
import { protectedResource } from './protected-resource.ts';
import { routes } from './routes.ts';
import type { FixedKey, ModelOf, SettingContext, WrittenElsewhere } from './setting.ts';
import { shutdown } from './shutdown.ts';
import { state } from './state.ts';
import { store } from './store.ts';
import { timeouts } from './timeouts.ts';
import { tracing } from './tracing.ts';
import { trustedProxies } from './trusted-proxies.ts';
import { upstreams } from './upstreams.ts';
import { warmUp } from './warm-up.ts';
import { workers } from './workers.ts';

// Everything about the top-level keys of gateway.yaml derives from this list: their schema, what `weir diff` says about a change,
// the defaults that depend on the memory, their checks, the secrets that are read, their part of the snapshot, and which changes
// need a restart.

/** Every setting, in the order of the keys in the JSON Schema and in the effective configuration. */
const SETTINGS = [
  listen,
  workers,
  trustedProxies,
  forwardingHeaders,
  identity,
  protectedResource,
  upstreams,
  routes,
  cors,
  errorPages,
  store,
  state,
  limits,
  timeouts,
  minReadRate,
  caps,
  http2,
  shutdown,
  warmUp,
  log,
  tracing,
  metrics,
] as const;

type Declared = (typeof SETTINGS)[number];

/** The settings whose keys that need a restart are named first, in this order. Those of all others follow. */
const NAMED_FIRST: readonly Declared[] = [listen, workers, caps, tracing, state, store, warmUp];

/** The shape of gateway.yaml. The checks say how its parts fit together. */
export const gatewaySchema = z.strictObject(keysOf(SETTINGS));

export const gatewaySecrecy = secrecyOf(gatewaySchema);

/** Hides the secrets of gateway.yaml as well, in case they end up in limits.yaml by mistake. */
export const limitsSecrecy = { ...secrecyOf(limitsSchema), keys: gatewaySecrecy.keys };

/** gateway.yaml with all defaults: times in milliseconds, sizes in bytes. */
export type GatewayConfig = z.output<typeof gatewaySchema>;

/** What all settings become in a snapshot. */
export type SettingModels = Intersection<ModelOf<Declared>>;

/** The secrets, keys and certificates that gateway.yaml names. */
export type Secrets = Intersection<Awaited<ReturnType<NonNullable<Declared['read']>>>>;

/** Fills in what no schema can: defaults that depend on the memory of the machine, or on other keys. */
export function fillDefaults(file: ConfigFile, machine: Machine): void {
  const { value } = file;
  if (!isMap(value)) return;
  const defaults = memoryDefaults(value, machine);
  for (const setting of SETTINGS) setting.fill?.(value, defaults, file);
}

export function checkSettings(file: ConfigFile): void {
  for (const setting of SETTINGS) setting.check?.(asMap(file.value), file);
}

/** Reads secrets, keys and certificates, and reports what is wrong with each. */
export async function readSecrets(file: ConfigFile, clock: Clock): Promise<Secrets> {
  const parts: object[] = [];
  // One after the other, so that problems are found in a fixed order.
  for (const setting of SETTINGS) parts.push((await setting.read?.(file, clock)) ?? {});
  return Object.assign({}, ...parts);
}

/** What stands in for the secrets where a command only inspects the configuration. */
export function withoutSecrets(config: GatewayConfig): Secrets {
  return Object.assign({}, ...SETTINGS.map((setting: Declared) => setting.withoutSecrets?.(config) ?? {}));
}

/** The gateway's own routes: for sign-in, for notices from providers, and for metadata. */
export function ownRoutesOf(
  config: GatewayConfig,
  elsewhere: WrittenElsewhere,
  secrets: Secrets,
): readonly RouteEntry<OwnRoute>[] {
  return SETTINGS.flatMap((setting: Declared) => setting.ownRoutes?.(config, elsewhere, secrets) ?? []);
}

const isInSteps = (made: object): made is Steps<object> => Symbol.iterator in made;

export function* compileSettings(
  config: GatewayConfig,
  given: Omit<SettingContext, 'common' | 'compiled'>,
  secrets: Secrets,
): Steps<SettingModels> {
  const { routes: _, ...others } = config;
  const models = new Map<Declared, object>();
  const context: SettingContext = {
    ...given,
    common: [others, secrets, given.requirements.all],
    compiled: (setting: never) => compiled(setting) as never,
  };
  function* compiled(setting: Declared): Steps<object> {
    const made = models.get(setting) ?? setting.compile(config, context, secrets);
    const model = isInSteps(made) ? yield* made : made;
    models.set(setting, model);
    return model;
  }
  for (const setting of SETTINGS) yield* compiled(setting);
  return Object.assign({}, ...models.values());
}

/** The keys that a running gateway cannot change. */
export const FIXED_KEYS: readonly FixedKey<SettingModels>[] = [
  ...new Set<Declared>([...NAMED_FIRST, ...SETTINGS]),
].flatMap(({ needsRestart = [] }): readonly FixedKey<SettingModels>[] => needsRestart);
