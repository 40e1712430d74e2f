import type { Snapshot } from '../config/index.ts';
import { readVersion } from '../core/index.ts';
import { openSpanExport } from '../observe/index.ts';
import type { App, AppOptions } from './app.ts';
import { RunningApp } from './running-app.ts';

/** Assembles a gateway and starts its listeners. Rejects, leaving nothing open, when an address cannot be bound. */
export async function startApp(snapshot: Snapshot, options: AppOptions): Promise<App> {
  const receiver = snapshot.tracing?.export ?? null;
  const spans =
    receiver && (await openSpanExport(receiver, readVersion(), options.log, options.system.clock));
  const app = new RunningApp(snapshot, options, spans);
  await app.start();
  return app;
}
