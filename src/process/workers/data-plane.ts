import { type DataPiece, filesIn, loadConfig, type Snapshot } from '../../config/index.ts';
import { type LockWait, SharedMemory, type System } from '../../core/index.ts';
import { SharedPermits } from '../../limits/index.ts';
import type { Logger } from '../../observe/index.ts';
import { openPlane, type PlaneApp, REPORT_MS } from '../app/index.ts';
import { lateLog } from './late-log.ts';
import type { Link } from './link.ts';
import type { PlaneConfig, PlaneSeed } from './messages.ts';
import { SharedRates } from './shared-rates.ts';
import { WorkerPart } from './worker-part.ts';

/** What a data plane needs in addition to its seed. */
export interface PlaneOptions {
  readonly link: Link;
  readonly system: System;
  readonly log: Logger;
  /** How it waits for memory that another plane has locked. Default: as for other threads. */
  readonly wait?: LockWait;
  /** Runs once its first configuration is loaded, before the first client can come. Default: nothing. */
  readonly beforeServing?: (() => void) | undefined;
  /** Sends what was logged so far. */
  readonly sendLog: () => void;
}

/** Serves clients as one of several workers, controlled by the main thread. */
export function runDataPlane(
  { worker, config, id, memory: handover, permitKeys }: PlaneSeed,
  { link, system, log, wait, beforeServing, sendLog }: PlaneOptions,
): void {
  const memory = new SharedMemory(handover, worker, wait);
  const { clock } = system;
  const part = new WorkerPart(link, {
    ...{ id, memory, permits: new SharedPermits(memory, permitKeys).named },
    ...{ rates: new SharedRates(memory).named, clock, late: lateLog(log, clock) },
  });
  const compileOwn = async (config: PlaneConfig) =>
    ownPart(await compile(config, system), memory.threads - 1);
  const prepared = new Map<number, Snapshot>();
  const pieces = new Map<number, DataPiece[]>();
  let app: PlaneApp | null = null;
  const running = () => {
    if (app === null) throw new Error('the worker has no configuration yet');
    return app;
  };
  // Messages are read once all code is loaded.
  link.answer('load', async () => null);
  link.answer('open', async () => {
    const snapshot = await compileOwn(config);
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
  link.answer('prepare', async asked => {
    prepared.set(asked.generation, await compileOwn(asked));
    return null;
  });
  link.answer('piece', async ({ generation, piece }) => {
    pieces.set(generation, [...(pieces.get(generation) ?? []), piece]);
    return null;
  });
  link.answer('assemble', async ({ generation, head }) => {
    const data = { head, pieces: pieces.get(generation) ?? [] };
    pieces.clear();
    prepared.set(generation, ownPart(await running().compile(data, generation), memory.threads - 1));
    return null;
  });
  link.on('commit', generation => {
    const snapshot = prepared.get(generation);
    if (snapshot === undefined) throw new Error(`generation ${generation} was not prepared`);
    // A later one may already be prepared.
    for (const each of prepared.keys()) if (each <= generation) prepared.delete(each);
    void running().take(snapshot);
  });
  link.on('discard', generation => {
    prepared.delete(generation);
    pieces.delete(generation);
  });
  link.answer('drain', async () => {
    const drained = await running().drain();
    clock.cancel(reporting);
    sendLog();
    return drained;
  });
}

/**
 * Adjusts caps that apply per worker. Each gets its part of the handshakes: with none, it could not end any, and would admit
 * nobody during a flood of them.
 */
function ownPart(snapshot: Snapshot, workers: number): Snapshot {
  const tlsHandshakes = Math.max(1, Math.floor(snapshot.caps.tlsHandshakes / workers));
  return { ...snapshot, caps: { ...snapshot.caps, tlsHandshakes } };
}

async function compile(
  { path, env, generation, bytes, machine }: PlaneConfig,
  { clock }: System,
): Promise<Snapshot> {
  const loaded = await loadConfig(path, { env, clock, generation, machine, files: filesIn(bytes) });
  if (loaded.ok) return loaded.snapshot;
  throw new Error(loaded.diagnostics.map(({ message }) => message).join('; '));
}
