import type { Clock } from '../../core/index.ts';
import type { Logger } from '../log/index.ts';
import { loadSdk } from './load-sdk.ts';
import { SpanExport, type SpanExportOptions } from './span-export.ts';

/** Loads the SDK of OpenTelemetry and begins to export. Rejects with `MissingPackages` if it is not installed. */
export async function openSpanExport(
  options: SpanExportOptions,
  version: string,
  log: Logger,
  clock: Clock,
): Promise<SpanExport> {
  return new SpanExport(options, version, await loadSdk(), log, clock);
}
