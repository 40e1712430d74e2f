import type { ConfigWatcherOptions, HostPort, LoadedConfig, Snapshot } from '../config/index.ts';
import type { NewPermits, SharedStates, System, TableMemory } from '../core/index.ts';
import type { LocalStore } from '../limits/index.ts';
import type { Logger } from '../observe/index.ts';
import type { IssuerSharing, KeptState, ThreadPart } from '../runtime/index.ts';
import type { BoundAddresses } from '../server/index.ts';
import type { CheckState, Lookups, NewRetryCounts } from '../upstream/index.ts';
import type { ReportExtent, WorkerReport, WorkerReports } from './worker-reports.ts';

/** What gateways of one machine may share. The maker of a part starts and stops it. */
export interface SharedParts {
  /** The part of this thread in its process. Default: it is alone, and informs others through Redis, if the configuration names one. */
  readonly thread?: ThreadPart;
  /**
   * Makes what counts connections, requests in flight (in total, by address, by upstream and its callers), requests that are
   * held, and those to providers, up to their caps. Default: each gateway counts its own.
   */
  readonly newPermits?: NewPermits;
  /** Counts requests against their limits. Default: each gateway counts in its own memory. */
  readonly counters?: LocalStore;
  /** Makes what counts requests to an upstream and their retries. Default: each gateway counts its own. */
  readonly newRetryCounts?: NewRetryCounts;
  /** Where offences and budgets are counted. Default: memory of this gateway alone. */
  readonly memory?: TableMemory;
  /** How the threads of the process share what one of them learns of providers. Default: there is one thread. */
  readonly issuers?: IssuerSharing;
  /** How the threads of the process share what health checks find out about endpoints. Default: there is one thread. */
  readonly checks?: SharedStates<CheckState>;
  /** Has names of endpoints looked up once for all threads. Default: there is one thread. */
  readonly lookups?: Lookups;
}

/** What a gateway needs besides its configuration. */
export interface AppOptions {
  readonly system: System;
  readonly log: Logger;
  /** What this gateway shares with others. Default: nothing but what Redis carries. */
  readonly shared?: SharedParts;
  /** Its number, as one of several workers, from 1. Default: it is no worker. */
  readonly worker?: number;
  /** Serve the clients in its place. Default: it listens itself. */
  readonly workers?: Workers;
  /** Runs once all is loaded, before the first client can come. Default: nothing. */
  readonly beforeServing?: (() => void) | undefined;
  /** What it keeps over a restart. Default: what the configuration says, unless it is a worker. */
  readonly state?: KeptState | null;
  /** Where the configuration came from, so that changes of its files are followed. Without it, the configuration never changes. */
  readonly source?: Pick<ConfigWatcherOptions, 'path' | 'env' | 'loaded' | 'settleMs' | 'pollMs'>;
}

/** Serves the clients of a gateway: its own listeners, or the workers of its process. */
export interface Service {
  /** How many clients are connected. */
  readonly connections: number;
  /**
   * Rejects with Node's error, for example EADDRINUSE, when an address cannot be bound.
   *
   * @param shared listens there, together with other workers. Default: alone, at the configured addresses
   */
  listen(shared?: BoundAddresses): Promise<BoundAddresses>;
  /** Applies a reload. */
  use(snapshot: Snapshot): void;
  /**
   * Asks clients to leave during `delayMs`, then lets what runs finish for at most `drainMs`, and cuts off what is left. Resolves
   * to false if something was cut off.
   */
  drain(delayMs: number, drainMs: number): Promise<boolean>;
  /** Breaks off what is left. */
  destroy(): void;
}

/** The workers of a process, which serve the clients for the gateway of its main thread. */
export interface Workers extends Service {
  /** What the workers report about themselves. */
  readonly reports: WorkerReports;
  /** Whether at least one worker serves. */
  readonly serves: boolean;
  /** Resolves to why the process must end, if workers die again and again. */
  readonly failed: Promise<string>;
  /** Has all workers compile a configuration. Rejects if a worker cannot: then no worker uses it. */
  prepare(loaded: LoadedConfig): Promise<void>;
}

/** A running gateway. */
export interface App {
  /** The bound addresses, with the actual port where the configuration says 0. */
  readonly addresses: BoundAddresses & { readonly admin: HostPort | null };
  /** Resolves to why the process must end, if that happens: workers die again and again. */
  readonly failed: Promise<string>;
  /** Reads the configuration files now. Resolves once they are applied, refused or waiting; never rejects. */
  reload(): Promise<void>;
  /**
   * Fails readiness at once, asks clients during `shutdown.delay` to connect again, then stops accepting and lets requests in
   * flight finish. Resolves to false when `shutdown.drain` ran out and the remaining ones were cut off. A second call joins the
   * first.
   */
  drain(): Promise<boolean>;
  /** Has workers hand over the log lines that they gather. Resolves when they have, or after half a second. */
  collectLog(): Promise<void>;
}

/** A gateway that does not listen yet. As a worker it has neither files to follow nor an admin listener. */
export interface PlaneApp extends App {
  /** Starts to serve, together with other workers at the same addresses. */
  join(addresses: BoundAddresses): Promise<BoundAddresses>;
  /** Serves by another configuration from now on. */
  take(snapshot: Snapshot): void;
  /** Hands over what it has counted since the last call, and how it is now. */
  report(wanted: ReportExtent): Promise<WorkerReport>;
}
