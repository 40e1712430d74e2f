import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { formatDiagnostic, type HostPort, readPart } from '../config/index.ts';
import { errorText, formatHostPort, jsonIn, nodeHttp } from '../core/index.ts';
import type { CallerOnCommandLine } from './caller-options.ts';

const TIMEOUT_MS = 3_000;
/** The address to use for a gateway that listens on all addresses of the machine. `::` includes those of IPv4. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '127.0.0.1' };

interface AdminReply {
  readonly status: number;
  readonly body: string;
}

/** The response of a gateway, or a message that says why there is none. */
type Asked =
  | { readonly ok: true; readonly reply: AdminReply }
  | { readonly ok: false; readonly message: string };

/**
 * Asks the admin listener of the gateway that runs with this configuration. Reads only "listen.admin" of the file.
 *
 * @param token `null` to send none
 */
export async function askAdmin(
  file: string,
  env: NodeJS.ProcessEnv,
  path: string,
  token: string | null = null,
): Promise<Asked> {
  const read = await readPart('admin listener', file, env);
  if (!read.ok) return { ok: false, message: read.diagnostics.map(formatDiagnostic).join('\n') };
  const { admin } = read;
  if (admin === null)
    return { ok: false, message: `listen.admin of ${file} is off: there is nothing to ask` };
  const address = { ...admin.address, host: LOOPBACK[admin.address.host] ?? admin.address.host };
  try {
    return { ok: true, reply: await ask(address, admin.tls !== undefined, path, token) };
  } catch (error) {
    const place = `${formatHostPort(address)} (listen.admin of ${file})`;
    return { ok: false, message: `no response from ${place}: ${errorText(error)}` };
  }
}

/** Rejects if no response comes in time. Accepts any certificate: certificates rarely name a loopback address. */
async function ask(
  { host, port }: HostPort,
  tls: boolean,
  path: string,
  token: string | null,
): Promise<AdminReply> {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  const options = { host, port, path, headers, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const request = tls ? requestHttps({ ...options, rejectUnauthorized: false }) : nodeHttp.request(options);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject).end();
  });
  return { status: response.statusCode ?? 0, body: await text(response) };
}

export interface RunningQuestion {
  readonly method: string;
  readonly path: string;
  readonly caller: CallerOnCommandLine;
  /** The gateway's configuration file, which contains the address of its admin listener. */
  readonly file: string;
  /** The file of the token to send; `null` to send none. */
  readonly tokenFile: string | null;
}

const explanationSchema = z.object({
  method: z.string(),
  path: z.string(),
  served: z.boolean(),
  facts: z.array(z.object({ about: z.string(), text: z.string() })),
});
type RunningExplanation = z.infer<typeof explanationSchema>;

const errorSchema = z.object({ message: z.string() });

/** Asks the gateway that runs on this machine. Resolves to the explanation, or to a text that says why there is none. */
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
  const value = jsonIn(body);
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
    return new Error(`--token-file ${file}: ${errorText(error)}`);
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
