import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { askAdmin } from './ask-admin.ts';
import type { CallerOnCommandLine } from './explained-caller.ts';
import { messageOf } from './output.ts';

/** A request that a running gateway is asked about. */
export interface RunningQuestion {
  readonly method: string;
  readonly path: string;
  readonly caller: CallerOnCommandLine;
  /** The gateway's configuration file, which says where its admin listener is. */
  readonly file: string;
  /** The file of the token to send; `null` sends none. */
  readonly tokenFile: string | null;
}

const explanationSchema = z.object({
  method: z.string(),
  path: z.string(),
  served: z.boolean(),
  facts: z.array(z.object({ about: z.string(), text: z.string() })),
});
export type RunningExplanation = z.infer<typeof explanationSchema>;

const errorSchema = z.object({ message: z.string() });

/** Asks the gateway that runs on this machine. Resolves to a text if there is no explanation: it says why. */
export async function explainRunning(
  question: RunningQuestion,
  env: NodeJS.ProcessEnv,
): Promise<RunningExplanation | string> {
  const { tokenFile } = question;
  const token = tokenFile === null ? null : await readToken(tokenFile);
  if (token instanceof Error) return token.message;
  const asked = await askAdmin(question.file, env, `/api/explain?${queryOf(question)}`, token);
  if (!asked.ok) return asked.message;
  const { status, body } = asked.reply;
  const value = parse(body);
  const explanation = explanationSchema.safeParse(value);
  if (status === 200 && explanation.success) return explanation.data;
  const error = errorSchema.safeParse(value);
  const message = error.success ? error.data.message : body.trim();
  const hint = status === 401 && tokenFile === null ? ' Name the file of its token with --token-file.' : '';
  return `the gateway answered ${status}: ${message}${hint}`;
}

async function readToken(file: string): Promise<string | Error> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    return new Error(`--token-file ${file}: ${messageOf(error)}`);
  }
}

function queryOf({ method, path, caller }: RunningQuestion): URLSearchParams {
  const { as, address, provider, claims } = caller;
  const query = new URLSearchParams({ method, path });
  if (as !== null) query.set('as', as);
  if (address !== null) query.set('address', address);
  if (provider !== null) query.set('provider', provider);
  for (const [name, value] of claims) query.set(`claims[${name}]`, value);
  return query;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
