import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { figureOf } from '../measure/figures.ts';
import type { Row } from '../report/result.ts';
import type { DecisionFigures } from '../servers/decisions.ts';
import type { Scenario } from './scenario.ts';

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, '../servers/decisions.ts');

const ROWS: readonly (readonly [
  name: string,
  column: 'bytes' | 'nanoseconds',
  key: keyof DecisionFigures,
])[] = [
  ['a key, 1,000,000 callers', 'bytes', 'bytesPerCaller'],
  ['a key, 1,000 callers with 1,000 main values each', 'bytes', 'bytesPerMainValue'],
  ['a decision on one limit', 'nanoseconds', 'nanosecondsOneLimit'],
  ['a decision on two limits', 'nanoseconds', 'nanosecondsTwoLimits'],
  ['a decision on two limits and "concurrent"', 'nanoseconds', 'nanosecondsTwoLimitsAndPlace'],
  ['a refusal', 'nanoseconds', 'nanosecondsRefusal'],
];

export const decisions: Scenario = {
  id: 'decisions',
  title: 'The memory store alone',
  meaning: 'What a limit takes of memory and time without any request around it.',
  quick: false,
  async run(bench) {
    const samples: DecisionFigures[] = [];
    for (let round = 0; round < Math.min(3, bench.settings.rounds); round++) {
      bench.progress(`round ${round + 1}`);
      bench.noteLoad();
      const { stdout } = await run(process.execPath, ['--expose-gc', PROGRAM]);
      samples.push(JSON.parse(stdout));
    }
    const rows: Row[] = ROWS.map(([name, column, key]) => ({
      name,
      figures: { [column]: figureOf(samples.map(sample => sample[key])) },
    }));
    return {
      how: `in one process, 36-byte subjects, 20-byte main values, 1,000,000 keys; times over 10,000 known callers; ${samples.length} rounds`,
      columns: [
        { id: 'bytes', label: 'bytes', digits: 0 },
        { id: 'nanoseconds', label: 'ns', digits: 0 },
      ],
      rows,
      notes: ['bytes: heap and array buffers after a collection.'],
    };
  },
};
