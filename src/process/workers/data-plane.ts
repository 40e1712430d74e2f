import { compileData, type Snapshot } from '../../config/index.ts';
import { atOnce, type LockWait, SharedMemory, type System } from '../../core/index.ts';
import { SharedPermits } from '../../limits/index.ts';
import type { Logger } from '../../observe/index.ts';
import { openPlane, type PlaneApp, REPORT_MS } from '../app/index.ts';
import { lateLog } from './late-log.ts';
import type { Link } from './link.ts';
import type { PlaneSeed } from './messages.ts';
import { SharedRates } from './shared-rates.ts';
import { WorkerPart } from './worker-part.ts';

export interface PlaneOptions {
  readonly link: Link;
  readonly system: System;
  readonly log: Logger;
  /** How this plane waits for memory that another one has locked. Default: as threads do. */
  readonly wait?: LockWait;
  /** Runs once its first configuration is loaded, before the first client can come. Default: nothing. */
  readonly beforeServing?: (() => void) | undefined;
  readonly sendLog: () => void;
}

/** Serves clients as one of several workers, controlled by the main thread. */
export function runDataPlane(
  { worker, id, memory: handover, permitKeys }: PlaneSeed,
  { link, system, log, wait, beforeServing, sendLog }: PlaneOptions,
): void {
  const memory = new SharedMemory(handover, worker, wait);
  const { clock } = system;
  const part = new WorkerPart(link, {
    id,
    memory,
    permits: new SharedPermits(memory, permitKeys).named,
    rates: new SharedRates(memory).named,
    clock,
    late: lateLog(log, clock),
  });
  const prepared = new Map<number, Snapshot>();
  let app: PlaneApp | null = null;
  const running = () => {
    if (app === null) throw new Error('the worker has no configuration yet');
    return app;
  };
  // The link delivers messages only once all code is loaded, so answers are registered in time.
  link.answer('load', async () => null);
  link.answer('open', async ({ data, generation }) => {
    const snapshot = ownPart(atOnce(compileData(data, generation, null)), memory.threads - 1);
    log.level = snapshot.log.level;
    app = await openPlane(snapshot, { part, system, log, state: null, beforeServing });
    return null;
  });
  link.answer('report', wanted => {
    sendLog();
    return running().report(wanted);
  });
  const reporting = clock.every(
    REPORT_MS,
    () => void app?.report('counts').then(report => link.post('report', report)),
  );
  link.answer('listen', addresses => running().join(addresses));
  link.answer('prepare', async ({ data, generation }) => {
    prepared.set(generation, ownPart(await running().compile(data, generation), memory.threads - 1));
    return null;
  });
  link.on('commit', generation => {
    const snapshot = prepared.get(generation);
    if (snapshot === undefined) throw new Error(`generation ${generation} was not prepared`);
    // A newer configuration may already be prepared.
    for (const each of prepared.keys()) if (each <= generation) prepared.delete(each);
    void running().take(snapshot);
  });
  link.on('discard', generation => void prepared.delete(generation));
  link.answer('drain', async () => {
    const drained = await running().drain();
    clock.cancel(reporting);
    sendLog();
    return drained;
  });
}

/**
 * Adjusts caps that apply per worker. Each gets its part of the handshakes, at least one: with none, it would admit nobody during a
 * flood of handshakes.
 */
function ownPart(snapshot: Snapshot, workers: number): Snapshot {
  const tlsHandshakes = Math.max(1, Math.floor(snapshot.caps.tlsHandshakes / workers));
  return { ...snapshot, caps: { ...snapshot.caps, tlsHandshakes } };
}
