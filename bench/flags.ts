import { parseArgs } from 'node:util';
import type { Settings } from './bench.ts';
import { SCENARIOS } from './scenarios/index.ts';
import type { Scenario } from './scenarios/scenario.ts';

/** `EX_USAGE` of sysexits.h. */
const EXIT_USAGE = 64;

const USAGE = `npm run bench [-- FLAGS]: measures the gateway beside others, see bench/README.md

  --quick        a few scenarios in under two minutes, to compare before and after
  --only ID      only this scenario; may be repeated
  --rounds N     rounds of each scenario (5; quick: 3)
  --seconds N    seconds of each measurement (2; quick: 1)
  --write        publish the figures of a partial or quick run, too; with --only, replaces only those scenarios
  --json         the report as JSON on standard output
  --help         show this text

Scenarios: ${SCENARIOS.map(({ id }) => id).join(', ')}`;

export interface BenchFlags {
  readonly settings: Settings;
  readonly scenarios: readonly Scenario[];
  /** Whether only some scenarios were requested. */
  readonly partial: boolean;
  readonly json: boolean;
  /** Whether the results replace the published ones. */
  readonly publish: boolean;
}

/** Reads the command line. Exits with the usage if it is wrong or asks for help. */
export function readFlags(parameters: readonly string[]): BenchFlags {
  try {
    return parse(parameters);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return process.exit(EXIT_USAGE);
  }
}

function parse(parameters: readonly string[]): BenchFlags {
  const { values: flags } = parseArgs({
    args: [...parameters],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      write: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (flags.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const { quick, only } = flags;
  return {
    settings: {
      mode: quick ? 'quick' : 'full',
      rounds: count('--rounds', flags.rounds, quick ? 3 : 5),
      seconds: count('--seconds', flags.seconds, quick ? 1 : 2),
    },
    scenarios:
      only === undefined ? SCENARIOS.filter(scenario => scenario.quick || !quick) : only.map(scenarioOf),
    partial: only !== undefined,
    json: flags.json,
    publish: flags.write || (!quick && only === undefined),
  };
}

function count(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error(`${flag} takes a whole number from 1 to 9999`);
  return Number(text);
}

function scenarioOf(id: string): Scenario {
  const found = SCENARIOS.find(scenario => scenario.id === id);
  if (found === undefined) throw new Error(`there is no scenario "${id}"`);
  return found;
}
