import { Gauge, type Registry } from 'prom-client';
import { readVersion } from '../../core/index.ts';

/** Registers which version runs, and on which Node.js. */
export function observeBuild(registry: Registry): void {
  const info = new Gauge({
    name: 'weir_build_info',
    help: 'Always 1; the labels name the version of Weir and of Node.js.',
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  info.set({ version: readVersion(), node: process.versions.node }, 1);
}
