import { type App, type AppOptions, startApp } from '../app/index.ts';
import { randomName } from '../core/index.ts';
import { ControlPlane } from './control-plane.ts';
import { FactsHub } from './facts-hub.ts';
import type { PlaneHost } from './host.ts';

/** Starts a gateway whose clients are served by workers. */
export function startWithWorkers(
  options: AppOptions & Required<Pick<AppOptions, 'source'>>,
  host: PlaneHost,
): Promise<App> {
  const { clock, randomBytes } = options.system;
  const facts = new FactsHub(randomName(randomBytes), clock);
  const workers = new ControlPlane({ ...options, ...options.source, host, facts });
  const shared = { ...options.shared, thread: facts };
  return startApp(options.source.loaded.snapshot, { ...options, workers, shared });
}
