import type { CapsModel } from '../../config/index.ts';
import { randomName, SharedMemory } from '../../core/index.ts';
import { SharedPermits } from '../../limits/index.ts';
import { SharedLookups } from '../../upstream/index.ts';
import { type App, type AppOptions, openStateOf, startApp } from '../app/index.ts';
import { ControlPlane } from './control-plane.ts';
import { FactsHub, lateLog } from './facts-hub.ts';
import type { PlaneHost } from './hosts.ts';
import { SharedRetryCounts } from './shared-retry-counts.ts';
import { StateBoard } from './state-board.ts';

/** Starts a gateway whose clients are served by workers. */
export async function startWithWorkers(
  options: AppOptions & Required<Pick<AppOptions, 'source'>>,
  host: PlaneHost,
): Promise<App> {
  const { clock, randomBytes } = options.system;
  const { loaded } = options.source;
  const facts = new FactsHub(randomName(randomBytes), { clock, late: lateLog(options.log, clock) });
  const board = new StateBoard(new SharedLookups(options.system));
  const state = await openStateOf(loaded.snapshot, options);
  const workerCount = loaded.snapshot.workers.count;
  const memory = SharedMemory.create(workerCount, randomBytes, host.wait, state?.counters?.hashRoot);
  const permits = new SharedPermits(memory, keysWithPermits(loaded.snapshot.caps));
  const { system, log } = options;
  const { path, env } = options.source;
  const workers = new ControlPlane({ loaded, path, env, host, facts, board, memory, permits, system, log });
  const newRetryCounts = new SharedRetryCounts(memory).named;
  const counting = { memory, newPermits: permits.named, newRetryCounts };
  const told = { issuers: board.issuers, checks: board.topic('checks'), lookups: board.lookups };
  const shared = { ...options.shared, ...counting, ...told, thread: facts };
  return startApp(loaded.snapshot, { ...options, workers, shared, state });
}

/**
 * Connections count under their address and its two owners, and so do requests; a request, or a WebSocket to its end, may count
 * under its caller with two owners at an upstream, and in a bucket as well. A few more are held, or go to providers.
 */
function keysWithPermits({ connections, requests }: CapsModel): number {
  return 7 * connections + 7 * requests + 4_096;
}
