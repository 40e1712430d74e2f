import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { UsageError } from '../load/options.ts';
import { positive, whole } from '../usage.ts';

export const HELP = `Runs a gateway for hours under clients of all protocols, abuse, reloads and faults, and says what did not return to
where it was whenever it rests. Linux, with redis-server and openssl.

npm run soak -- [OPTIONS]

  --hours N, --minutes N, --seconds N   how long (30 seconds)
  --workers N     threads of the gateway (1)
  --rate N        what clients begin per second: requests, calls, WebSockets, sign-ins, attacks (20)
  --seed N        of what they do; printed, left out: another one each time
  --out FOLDER    where samples.jsonl, result.json, soak.svg and the gateway's log go (a new one, printed)
  --draw FOLDER   runs nothing: judges and draws what a run has written so far
  --svg FILE      where the picture goes (soak.svg in the folder)

Exit code: 0, 1 if something did not return, 64 if the command line is wrong.
`;

export interface SoakOptions {
  readonly seconds: number;
  readonly workers: number;
  readonly rate: number;
  readonly seed: number;
  readonly folder: string;
  /** Whether to run, or only to judge and draw what is there. */
  readonly runs: boolean;
  readonly svg: string;
}

/** Null: help was asked for. Throws what `runScript` tells. */
export function readOptions(args: readonly string[]): SoakOptions | null {
  const values = parse(args);
  if (values.help === true) return null;
  const number = (name: 'hours' | 'minutes' | 'seconds' | 'rate', otherwise: number) =>
    positive(`--${name}`, values[name], otherwise);
  const asked = 3_600 * number('hours', 0) + 60 * number('minutes', 0) + number('seconds', 0);
  const numbers = {
    seconds: asked || 30,
    workers: whole('--workers', values.workers, 1),
    rate: number('rate', 20),
    seed: whole('--seed', values.seed, Math.ceil(Math.random() * 1e9)),
  };
  const folder = values.draw === undefined ? newFolder(values.out) : drawnFolder(values.draw);
  return {
    ...numbers,
    folder,
    runs: values.draw === undefined,
    svg: values.svg ?? join(folder, 'soak.svg'),
  };
}

function newFolder(out: string | undefined): string {
  const folder = resolve(out ?? mkdtempSync(join(tmpdir(), 'weir-soak-')));
  mkdirSync(join(folder, 'state'), { recursive: true });
  return folder;
}

function drawnFolder(draw: string): string {
  if (existsSync(join(draw, 'samples.jsonl'))) return resolve(draw);
  throw new UsageError(`--draw ${draw} is no folder of a run: it has no samples.jsonl`);
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    ...{ hours: text, minutes: text, seconds: text, workers: text, rate: text, seed: text },
    ...{ out: text, draw: text, svg: text },
    help: { type: 'boolean', short: 'h' },
  } as const;
  return parseArgs({ args: [...args], options }).values;
}
