import { runCommandLine } from '../../src/cli/index.ts';

/** How a command ended, and what it wrote. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `weir` with these words in this process, without starting a Node for it. */
export async function runWeir(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommandLine(words, {
    env: { ...process.env, ...env },
    out: text => void out.push(text),
    err: text => void err.push(text),
  });
  return { code, out: out.join(''), err: err.join('') };
}
