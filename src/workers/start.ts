import { type App, type AppOptions, startApp } from '../app/index.ts';
import { ControlPlane } from './control-plane.ts';
import type { PlaneHost } from './host.ts';

/** Starts a gateway whose clients are served by workers. */
export function startWithWorkers(
  options: AppOptions & Required<Pick<AppOptions, 'source'>>,
  host: PlaneHost,
): Promise<App> {
  const workers = new ControlPlane({ ...options, ...options.source, host });
  return startApp(options.source.loaded.snapshot, { ...options, workers });
}
