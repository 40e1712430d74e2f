import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatProblem, type LoadResult, loadConfig } from '../../src/config/index.ts';
import { tempFolder } from './temp.ts';

/** The two keys of gateway.yaml that are needed, for tests about the others. */
export const NEEDED = `upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api, authentication: none }]
`;

/** Loads a text as gateway.yaml would be loaded. No variable is set but those given. */
export async function loadText(
  text: string | Buffer,
  env: Readonly<Record<string, string>> = {},
): Promise<LoadResult> {
  const file = join(await tempFolder(), 'gateway.yaml');
  await writeFile(file, text);
  return loadConfig(file, { env, generation: 1 });
}

/** Problems as they are printed, without the name of the file: `3:5: what is wrong`. */
export async function problemsIn(
  text: string | Buffer,
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const result = await loadText(text, env);
  const problems = result.ok ? result.warnings : result.problems;
  return problems.map(problem => formatProblem({ ...problem, file: '' }).replace(/^: ?/, ''));
}
