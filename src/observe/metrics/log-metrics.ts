import { Counter, Gauge, type Registry } from 'prom-client';
import type { LogLosses } from '../log/index.ts';

/** Registers whether log lines are written. */
export function observeLog(registry: Registry, losses: () => LogLosses): void {
  const registers = [registry];
  let counted = 0;
  new Counter({
    name: 'weir_log_lines_dropped_total',
    help: 'Log lines that were dropped because standard output did not take them.',
    registers,
    collect() {
      const { linesDropped } = losses();
      this.inc(linesDropped - counted);
      counted = linesDropped;
    },
  });
  new Gauge({
    name: 'weir_log_blocked',
    help: '1 while standard output takes no log lines, such as on a full disk, else 0.',
    registers,
    collect() {
      this.set(losses().trouble === null ? 0 : 1);
    },
  });
}
