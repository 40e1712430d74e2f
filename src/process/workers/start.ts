import type { CapsModel } from '../../config/index.ts';
import { MainPart, randomName, SharedMemory } from '../../core/index.ts';
import { SharedPermits } from '../../limits/index.ts';
import { type App, openStateOf, type StartOptions, startApp } from '../app/index.ts';
import { ControlPlane } from './control-plane.ts';
import type { PlaneHost } from './hosts.ts';
import { lateLog } from './late-log.ts';
import { SharedRates } from './shared-rates.ts';

export async function startWithWorkers(
  options: StartOptions & Required<Pick<StartOptions, 'source'>>,
  host: PlaneHost,
): Promise<App> {
  const { system, log } = options;
  const { clock, randomBytes } = system;
  const { loaded } = options.source;
  const state = await openStateOf(loaded.snapshot, options);
  const workerCount = loaded.snapshot.workers.count;
  const memory = SharedMemory.create(workerCount, randomBytes, host.wait, state?.counters?.hashRoot);
  const permits = new SharedPermits(memory, keysWithPermits(loaded.snapshot.caps));
  const part = new MainPart({
    id: randomName(randomBytes),
    memory,
    permits: permits.named,
    rates: new SharedRates(memory).named,
    clock,
    late: lateLog(log, clock),
  });
  const workers = new ControlPlane({ loaded, host, part, memory, permits, system, log });
  return startApp(loaded.snapshot, { ...options, workers, part, state });
}

/**
 * A connection counts under its address and two owners, and so does a request. A request, or a WebSocket to its end, may also count
 * under its caller and two owners at an upstream, and in a bucket. A few more are held, or go to providers.
 */
function keysWithPermits({ connections, requests }: CapsModel): number {
  return 7 * connections + 7 * requests + 4_096;
}
