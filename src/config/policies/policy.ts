import type { Difference } from '../difference.ts';
import { asMap, type RawMap, Section } from '../file/index.ts';
import type { DescribedFacts } from './fact.ts';
import type { PolicyConfig, PolicyKeys } from './keys.ts';
import type { Requirements } from './requirements.ts';
import type { RouteTimes, UpstreamModel } from './upstream-settings.ts';

/** The parts of a route that a policy may need to compile. */
export interface PolicyContext {
  /** The name of the route in metrics and logs. */
  readonly id: string;
  /** `null` if the route has no upstream. */
  readonly upstream: UpstreamModel | null;
  /** Its own, or those of its upstream; `null` if it has none. */
  readonly timeouts: RouteTimes | null;
  /** The default minimum rate at which clients must read, in bytes per second; `null` for no minimum. */
  readonly minReadRate: number | null;
  readonly requirements: Requirements;
}

/** A route as written, for checks, with one of its upstreams. */
export class RouteInFile extends Section {
  /** The upstream, as written; empty if there is none. */
  readonly upstream: RawMap;

  constructor({ file, path, raw }: Section, name: string | undefined) {
    super(file, path, { ...raw, upstream: name });
    this.upstream = name === undefined ? {} : asMap(asMap(asMap(file.value).upstreams)[name]);
  }
}

/** A route as written that lacks a key of `defaults`, with the rest of the file that matters. */
export interface DefaultedRoute {
  readonly route: RawMap;
  readonly defaults: RawMap;
  readonly upstreams: RawMap;
}

/**
 * A policy of a route: everything about one key of a route in gateway.yaml, or about a few keys that form one part of its model.
 * @typeParam Model the part of the compiled route
 */
export interface RoutePolicy<Keys extends PolicyKeys, Model extends object> {
  readonly keys: Keys;
  /** The keys that do not apply to gRPC calls, so that they are errors next to `grpc`. Default: none. */
  readonly pathOnly?: readonly NoInfer<keyof Keys & string>[];
  /** The keys that do not apply to a route without an upstream. Default: none. */
  readonly forwardOnly?: readonly NoInfer<keyof Keys & string>[];
  /**
   * The keys that each route must set itself, so that `defaults` does not have them: who may use it, and what depends on its path.
   * Default: none.
   */
  readonly own?: readonly NoInfer<keyof Keys & string>[];
  /** For keys of `defaults`: whether other keys of a route rule them out. Default: they do not. */
  readonly ruledOut?: { readonly [Key in NoInfer<keyof Keys>]?: (given: DefaultedRoute) => boolean };
  compile(config: PolicyConfig<Keys>, context: PolicyContext): Model;
  /** Compiles the policy of a gRPC route. Omitted if `compile` does. */
  compileCall?(config: PolicyConfig<Keys>): NoInfer<Model>;
  /** Reports conflicts with the route's other keys or with its upstream. */
  check?(route: RouteInFile): void;
  /** Where `weir explain` describes it. Default: `request`. */
  readonly section?: ExplainedSection;
  /** Describes what the policy does, for `weir explain`. */
  describe?(route: NoInfer<Model> & { readonly upstream: UpstreamModel | null }): DescribedFacts;
  /** Returns what a change means to callers, for `weir diff`; `null` if nothing. */
  compare(now: NoInfer<Model>, before: NoInfer<Model>): Difference | null | readonly (Difference | null)[];
}

/** A section of the output of `weir explain` about a route: who may use it, what happens to a request, and to a WebSocket. */
export type ExplainedSection = 'caller' | 'request' | 'websocket';

/** Declares a policy, with types inferred from its keys and its `compile`. */
export function routePolicy<Keys extends PolicyKeys, Model extends object>(
  policy: RoutePolicy<Keys, Model>,
): RoutePolicy<Keys, Model> {
  return policy;
}
