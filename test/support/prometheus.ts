import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import type { Sample } from './promql.ts';
import { promtool } from './promtool.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

/** A line of an answer: its labels, and its value as text. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [atS: number, value: string];
}

interface Answer {
  readonly status: 'success' | 'error';
  readonly error?: string;
  readonly data?: { readonly result: readonly Series[] };
}

/** A Prometheus that remembers what it never had to scrape. */
export class Prometheus {
  readonly #port: number;
  readonly #atS: number;

  constructor(port: number, atS: number) {
    this.#port = port;
    this.#atS = atS;
  }

  /** Its answer to an instant query, at the end of what it remembers. Throws with its words if it has none. */
  async ask(query: string): Promise<readonly Series[]> {
    const search = new URLSearchParams({ query, time: String(this.#atS) });
    const response = await fetch(`http://127.0.0.1:${this.#port}/api/v1/query?${search}`);
    const { status, error, data } = (await response.json()) as Answer;
    if (status !== 'success') throw new Error(`${error}: ${query}`);
    return data?.result ?? [];
  }
}

const STEP_S = 15;
const STEPS = 8;

/**
 * Starts a Prometheus that remembers these samples as if it had scraped them for two minutes, in which each grew from 0 to what it is
 * and a little more. The end of the running test stops it.
 */
export async function prometheusWith(samples: readonly Sample[]): Promise<Prometheus> {
  const folder = await tempFolder();
  const data = join(folder, 'data');
  await mkdir(data);
  const untilS = Math.floor(Date.now() / 1_000) - STEP_S;
  await writeFile(join(folder, 'samples.txt'), openMetrics(samples, untilS));
  const made = promtool(['tsdb', 'create-blocks-from', 'openmetrics', join(folder, 'samples.txt'), data]);
  if (made.code !== 0) throw new Error(made.said);
  await writeFile(join(folder, 'prometheus.yaml'), '{}');
  const port = await freePort();
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${data}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: 'ignore' },
  );
  onTestFinished(() => stopped(child));
  await waitFor('Prometheus is ready', () => isReady(child, port));
  return new Prometheus(port, untilS);
}

async function isReady(child: ChildProcess, port: number): Promise<boolean> {
  if (child.exitCode !== null) throw new Error(`Prometheus ended with ${child.exitCode}`);
  return fetch(`http://127.0.0.1:${port}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill();
  await once(child, 'exit');
}

/** OpenMetrics without types: promtool reads every name as it stands. */
function openMetrics(samples: readonly Sample[], untilS: number): string {
  const lines = [{ metric: 'up', labels: new Map<string, string>(), value: 1 }, ...samples].flatMap(
    ({ metric, labels, value }) => {
      const all = [...labels, ['job', 'weir'], ['instance', 'gateway-1']];
      const name = `${metric}{${all.map(([label, text]) => `${label}="${text}"`).join()}}`;
      return Array.from({ length: STEPS + 1 }, (_, step) => {
        const grown = metric === 'up' ? 1 : (value + 1) * (step / STEPS);
        return `${name} ${grown} ${untilS - (STEPS - step) * STEP_S}`;
      });
    },
  );
  return `${lines.join('\n')}\n# EOF\n`;
}
