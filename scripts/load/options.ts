import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

export const HELP = `Puts load on a gateway, and says whether its limits held.

npm run load -- --url URL [OPTIONS]

  --url URL           what to ask for, such as https://gateway.example/v1/things
  --token-file FILE   access tokens, one a line; may be given several times. Each token is a caller, and each
                      caller has as many connections. Left out: requests without a token
  --rate N            requests per second, all callers together. Left out: as many as it takes
  --duration TIME     such as 30s or 5m (30s)
  --connections N     open connections, at least one per caller (10, or one per caller if these are more)
  --method METHOD     (GET)
  --body-file FILE    the body of each request
  --header LINE       another header field, such as "Accept: text/plain"; may be given several times
  --timeout TIME      for one response (10s)
  --json FILE         writes the result as JSON; - for standard output, then without the text
  --svg FILE          writes a picture of the run

The certificate of an https URL is not verified: use tokens made for the test.

Exit code: 0, 1 if a limit admitted too much or nothing was answered with 2xx, 64 if the command line is wrong.
`;

/** A wrong command line. The message says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface LoadOptions {
  readonly url: string;
  /** Empty: no tokens are sent. */
  readonly tokens: readonly string[];
  /** Requests per second; null: no bound. */
  readonly rate: number | null;
  readonly seconds: number;
  readonly connections: number;
  readonly method: string;
  readonly body: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly json: string | null;
  readonly svg: string | null;
}

/** Null: help was asked for. Throws a UsageError. */
export function readOptions(args: readonly string[]): LoadOptions | null {
  const values = parse(args);
  if (values.help === true) return null;
  const tokens = (values['token-file'] ?? []).flatMap(readTokens);
  const callers = Math.max(1, tokens.length);
  const connections = wholeNumber('--connections', values.connections ?? String(Math.max(10, callers)));
  const rate = values.rate === undefined ? null : wholeNumber('--rate', values.rate);
  if (connections < callers)
    throw new UsageError(`--connections ${connections} is less than one for each of ${callers} callers`);
  if (rate !== null && rate < callers)
    throw new UsageError(`--rate ${rate} is less than one request per second for each of ${callers} callers`);
  return {
    url: readUrl(values.url),
    tokens,
    rate,
    // Each connection sends a whole number of requests per second.
    connections: rate === null ? connections : Math.min(connections, rate),
    seconds: readSeconds('--duration', values.duration ?? '30s'),
    method: values.method ?? 'GET',
    body: values['body-file'] === undefined ? null : readText('--body-file', values['body-file']),
    headers: Object.fromEntries((values.header ?? []).map(readHeader)),
    timeoutSeconds: readSeconds('--timeout', values.timeout ?? '10s'),
    json: values.json ?? null,
    svg: values.svg ?? null,
  };
}

function parse(args: readonly string[]) {
  const options = {
    url: { type: 'string' },
    'token-file': { type: 'string', multiple: true },
    rate: { type: 'string' },
    duration: { type: 'string' },
    connections: { type: 'string' },
    method: { type: 'string' },
    'body-file': { type: 'string' },
    header: { type: 'string', multiple: true },
    timeout: { type: 'string' },
    json: { type: 'string' },
    svg: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error));
  }
}

function readUrl(text: string | undefined): string {
  if (text === undefined) throw new UsageError('missing --url, such as --url http://127.0.0.1:8080/');
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--url ${text} is not a URL of http or https`);
  return url.href;
}

function readTokens(file: string): string[] {
  const tokens = readText('--token-file', file)
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
  if (tokens.length === 0) throw new UsageError(`--token-file ${file} holds no token`);
  // Of the token itself nothing is said: it is a secret.
  if (tokens.some(token => /[^!-~]/.test(token)))
    throw new UsageError(
      `--token-file ${file} holds a line that is no token: write one a line, without "Bearer"`,
    );
  return tokens;
}

function readText(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${option} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function readHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw new UsageError(`--header ${line} is not a header field: write "Name: value"`);
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

function wholeNumber(option: string, text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new UsageError(`${option} ${text} is not a whole number from 1`);
  return Number(text);
}

function readSeconds(option: string, text: string): number {
  const [, amount, unit = 's'] = /^(\d+)(s|m|h)?$/.exec(text) ?? [];
  const seconds = Number(amount) * (unit === 'h' ? 3_600 : unit === 'm' ? 60 : 1);
  if (!(seconds >= 1)) throw new UsageError(`${option} ${text} is not a time such as 30s or 5m`);
  return seconds;
}
