import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Settings } from './bench.ts';
import { PEERS } from './peers/index.ts';
import { SCENARIOS } from './scenarios/index.ts';
import type { Scenario } from './scenarios/scenario.ts';

/** `EX_USAGE` of sysexits.h. */
const EXIT_USAGE = 64;

const USAGE = `npm run bench [-- FLAGS]: measures the gateway next to others, see bench/README.md

  --quick        a few scenarios in about two minutes, to compare before and after
  --only ID      only this scenario; may be repeated
  --peer NAME    only this gateway (Weir, Envoy, nginx ...); may be repeated
  --before DIR   also another checkout of Weir, as "Weir before", in the same rounds
  --rounds N     rounds of each scenario (5; quick: 3)
  --seconds N    seconds of each measurement (2; quick: 1)
  --reloads N    reloads of each run of the scenario reload (60)
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
      peer: { type: 'string', multiple: true },
      before: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      reloads: { type: 'string' },
      write: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (flags.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const { quick, only, peer, before } = flags;
  return {
    settings: {
      mode: quick ? 'quick' : 'full',
      rounds: count('--rounds', flags.rounds, quick ? 3 : 5),
      seconds: count('--seconds', flags.seconds, quick ? 1 : 2),
      reloads: count('--reloads', flags.reloads, 60),
      peers: peer === undefined ? null : peer.map(peerNamed),
      before: before === undefined ? null : checkoutAt(before),
    },
    scenarios:
      only === undefined ? SCENARIOS.filter(scenario => scenario.quick || !quick) : only.map(scenarioOf),
    partial: only !== undefined,
    json: flags.json,
    publish: publishes(flags),
  };
}

/** Whether the results replace the published ones, which are figures of all peers and of this version alone. */
function publishes({ write, quick, only, peer, before }: Choice): boolean {
  const isWhole = peer === undefined && before === undefined;
  if (write && !isWhole) throw new Error('--write publishes no run with --peer or --before');
  return write || (!quick && only === undefined && isWhole);
}

interface Choice {
  readonly write: boolean;
  readonly quick: boolean;
  readonly only?: readonly string[] | undefined;
  readonly peer?: readonly string[] | undefined;
  readonly before?: string | undefined;
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

function peerNamed(name: string): string {
  const found = PEERS.find(peer => peer.name.toLowerCase() === name.toLowerCase());
  if (found === undefined)
    throw new Error(`there is no peer "${name}", but ${PEERS.map(peer => peer.name).join(', ')}`);
  return found.name;
}

function checkoutAt(directory: string): string {
  const checkout = resolve(directory);
  if (!existsSync(join(checkout, 'src/main.ts'))) throw new Error(`--before: ${checkout} has no src/main.ts`);
  if (!existsSync(join(checkout, 'node_modules')))
    throw new Error(`--before: ${checkout} has no node_modules: run "npm ci" there`);
  return checkout;
}
