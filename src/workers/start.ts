import { type App, type AppOptions, startApp } from '../app/index.ts';
import { randomName, SharedMemory } from '../core/index.ts';
import { ControlPlane } from './control-plane.ts';
import { FactsHub } from './facts-hub.ts';
import type { PlaneHost } from './host.ts';

/** Starts a gateway whose clients are served by workers. */
export function startWithWorkers(
  options: AppOptions & Required<Pick<AppOptions, 'source'>>,
  host: PlaneHost,
): Promise<App> {
  const { clock, randomBytes } = options.system;
  const { loaded } = options.source;
  const facts = new FactsHub(randomName(randomBytes), clock);
  const memory = SharedMemory.create(loaded.snapshot.workers.count, randomBytes, host.wait);
  const workers = new ControlPlane({ ...options, ...options.source, host, facts, memory });
  const shared = { ...options.shared, memory, thread: facts };
  return startApp(loaded.snapshot, { ...options, workers, shared });
}
