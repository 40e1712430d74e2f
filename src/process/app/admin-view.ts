import type { ConfigWatcher, FixedValue, ReloadRecord, Snapshot } from '../../config/index.ts';
import { restartKeys } from '../../config/index.ts';
import type { Clock, NoticeKind } from '../../core/index.ts';
import { type AdminView, gatherStatus } from '../../edge/admin/index.ts';
import type { Gateway, UnlistedProxies } from '../../gateway/index.ts';
import type { Generations, Limiting } from '../../gateway/runtime/index.ts';
import type { Notices } from '../../identity/auth/index.ts';
import type { Observation } from '../../observe/index.ts';
import type { Transports } from '../../upstream/index.ts';
import type { AddressSet } from '../../wire/http/index.ts';
import type { Service } from './app.ts';
import type { WorkerReports } from './worker-reports.ts';

export interface ShownParts {
  readonly clock: Clock;
  readonly record: ReloadRecord;
  readonly gateway: Gateway;
  readonly limiting: Limiting;
  readonly observation: Observation;
  readonly unlistedProxies: UnlistedProxies;
  readonly generations: Generations;
  /** The settings that a reload cannot change. */
  readonly fixed: Pick<Snapshot, 'workers'> & { readonly values: readonly FixedValue[] };
  /** Watches the files; `null` if nothing is reloaded. */
  readonly watcher: ConfigWatcher | null;
  readonly service: Pick<Service, 'connections'>;
  readonly transports: Transports;
  /** The workers' reports; empty if there are no workers. */
  readonly reports: WorkerReports;
  /** Why the gateway is not ready; `null` if it is. */
  notReady(): string | null;
  /** Resolves once all threads of the process know what this thread has learnt so far. */
  readonly allKnow: () => Promise<void>;
}

/** The data that the admin listener shows of a gateway, read for each request. */
export function adminView(parts: ShownParts): AdminView {
  const { clock, generations, watcher, observation, limiting, reports, notReady, allKnow } = parts;
  const sources = {
    ...parts,
    startedAtMs: clock.epochMs(),
    nowMs: () => clock.epochMs(),
    generation: () => generations.current,
    restartKeys: (latest: Snapshot) => restartKeys(parts.fixed.values, latest),
    reload: () => (watcher === null ? 'off' : watcher.watches ? 'watch' : 'poll'),
    workers: () => reports.views,
    clientConnections: () => parts.service.connections,
    requestsInFlight: () => parts.gateway.inFlight + reports.requestsInFlight,
    unlistedProxies: (trusted: AddressSet) => [
      ...parts.unlistedProxies.reports(trusted),
      ...reports.unlistedProxies,
    ],
    upstreamConnections: () => reports.upstreamConnections(parts.transports.connections),
    endpoints: () => reports.endpoints(parts.transports.states),
  } as const;
  return {
    async metrics(names: readonly string[]) {
      await reports.refresh('scrape');
      return observation.scrape(await reports.levels(), names);
    },
    notReady,
    notices: {
      kinds: () => generations.current.identity?.adminNotices ?? NO_KINDS,
      take: request => noticesOf(generations).take(request),
    },
    async status(showCallers: boolean) {
      await reports.refresh('state');
      return gatherStatus(sources, showCallers);
    },
    api: {
      restrictions: limiting.restrictions,
      allowances: limiting.allowances,
      snapshot: () => generations.current.snapshot,
      async endpoints() {
        await reports.refresh('state');
        return sources.endpoints();
      },
      addressThatRefused: principal => observation.recent.callers.addressThatRefused(principal),
      async refused() {
        await reports.refresh('state');
        return observation.recent.callers.refused;
      },
      pseudonymOf: (key: string) => observation.pseudonymOf(key),
      allKnow,
    },
  };
}

const NO_KINDS: ReadonlySet<NoticeKind> = new Set();

/** The notices of the current providers. Call it only if the admin listener receives any. */
function noticesOf({ current: { identity } }: Generations): Notices {
  if (identity === null) throw new Error('no identity provider is configured');
  return identity.notices;
}
