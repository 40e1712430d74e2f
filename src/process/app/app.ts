import type {
  ConfigData,
  ConfigWatcherOptions,
  HostPort,
  LoadedConfig,
  Snapshot,
} from '../../config/index.ts';
import type { ProcessPart, System } from '../../core/index.ts';
import type { BoundAddresses } from '../../edge/server/index.ts';
import type { KeptState } from '../../gateway/runtime/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { ReportExtent, WorkerReport, WorkerReports } from './worker-reports.ts';

/** What a gateway needs in addition to its configuration, with or without workers. */
export interface StartOptions {
  readonly system: System;
  readonly log: Logger;
  /** Runs after everything is loaded, before the first client can connect. Default: nothing. */
  readonly beforeServing?: (() => void) | undefined;
  /** The source of the configuration, to follow changes of its files. Without it, the configuration never changes. */
  readonly source?: Pick<ConfigWatcherOptions, 'path' | 'env' | 'loaded' | 'settleMs' | 'pollMs' | 'load'>;
}

/** What one thread of a gateway needs in addition. */
export interface AppOptions extends StartOptions {
  /** What this thread shares with others. */
  readonly part: ProcessPart;
  /** What it keeps across a restart (`openStateOf`); `null` for nothing, and for a worker. */
  readonly state: KeptState | null;
  /** Serve the clients instead of this gateway. Default: it listens itself. */
  readonly workers?: Workers;
}

/** Serves the clients of a gateway: its own listeners, or the workers of its process. */
export interface Service {
  readonly connections: number;
  /**
   * Rejects with Node's error, for example EADDRINUSE, when an address cannot be bound.
   *
   * @param shared the addresses to listen at together with other workers. Default: alone, at the configured ones
   */
  listen(shared?: BoundAddresses): Promise<BoundAddresses>;
  use(snapshot: Snapshot): void;
  /**
   * Asks clients to leave during `delayMs`, then lets running requests finish for at most `drainMs`, and cuts off the rest.
   * Resolves to false if something was cut off.
   */
  drain(delayMs: number, drainMs: number): Promise<boolean>;
  destroy(): void;
}

/** The workers of a process, which serve the clients for the gateway of its main thread. */
export interface Workers extends Service {
  readonly reports: WorkerReports;
  readonly serves: boolean;
  /** Resolves to why the process must end, if workers die repeatedly. */
  readonly failed: Promise<string>;
  /** Has all workers compile a configuration. Rejects if one cannot: then no worker uses it. */
  prepare(loaded: LoadedConfig): Promise<void>;
}

export interface App {
  /** The bound addresses, with the actual port where the configuration says 0. */
  readonly addresses: BoundAddresses & { readonly admin: HostPort | null };
  /** Resolves to why the process must end, if that happens: workers die repeatedly. */
  readonly failed: Promise<string>;
  /** Reads the configuration files now. Resolves once they are applied, refused or waiting; never rejects. */
  reload(): Promise<void>;
  /**
   * Fails readiness at once, asks clients during `shutdown.delay` to reconnect, then stops accepting and lets requests in flight
   * finish. Resolves to false if `shutdown.drain` ran out and the remaining ones were cut off. A second call joins the first.
   */
  drain(): Promise<boolean>;
  /** Has workers pass on their collected log lines. Resolves when they have, or after half a second. */
  collectLog(): Promise<void>;
}

/** A gateway that is not listening yet. As a worker it has neither files to follow nor an admin listener. */
export interface PlaneApp extends App {
  /** Starts to serve, together with other workers at the same addresses. */
  join(addresses: BoundAddresses): Promise<BoundAddresses>;
  /** Compiles what the main thread has read, in slices, and takes over what did not change. */
  compile(data: ConfigData, generation: number): Promise<Snapshot>;
  /** Serves with another configuration from now on. Resolves once everything follows it. */
  take(snapshot: Snapshot): Promise<void>;
  /** Reports what it has counted since the last call, and its current state. */
  report(wanted: ReportExtent): Promise<WorkerReport>;
}
