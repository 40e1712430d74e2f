import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import type {} from './file-cost.ts';

/** Lists the processor time of each test file, the costliest first: `npm test -- --reporter=./test/support/costs/costs-reporter.ts`. */
export default class CostsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const costs = modules.map(module => ({
      file: relative('.', module.moduleId),
      seconds: module.meta().processorSeconds ?? 0,
    }));
    for (const { file, seconds } of costs.toSorted((a, b) => b.seconds - a.seconds)) line(seconds, file);
    line(
      costs.reduce((sum, { seconds }) => sum + seconds, 0),
      `in ${costs.length} files`,
    );
    const { user, system } = process.cpuUsage();
    line((user + system) / 1e6, 'in the process that transforms the sources and starts the workers');
  }
}

function line(seconds: number, what: string): void {
  process.stdout.write(`${seconds.toFixed(2).padStart(8)} s  ${what}\n`);
}
