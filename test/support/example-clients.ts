import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';
import { documentNamed } from './documents.ts';
import { ensureInstalled } from './installed.ts';
import { tempText } from './temp.ts';
import { moveWorldClock } from './world-clock.ts';

/** What a client keeps while its user is away. */
export type Pending = Readonly<Record<'redirectUri' | 'state' | 'nonce' | 'codeVerifier', string>>;

/** A client of docs/clients.md, as it stands there. */
export interface ExampleClient {
  begin(): Promise<{ readonly url: string; readonly pending: Pending }>;
  finish(address: string, pending: Pending): Promise<void>;
  /** So many calls at the same time; resolves with their statuses. */
  call(path: string, times: number): Promise<readonly number[]>;
  accessToken(): Promise<string>;
}

/** One whose clock a test can set ahead. */
export interface MovableClient extends ExampleClient {
  pass(seconds: number): unknown;
}

export const EXAMPLE_CLIENTS: readonly (readonly [string, (gateway: string) => Promise<MovableClient>])[] = [
  ['JavaScript', startJavaScript],
  ['Python', startPython],
];

async function startJavaScript(gateway: string): Promise<MovableClient> {
  const file = await tempText('client.mjs', documentNamed('docs/clients.md').blockLines('js').join('\n'));
  const { Client } = await import(/* @vite-ignore */ pathToFileURL(file).href);
  const client = new Client(gateway);
  return {
    begin: () => client.begin(),
    finish: (address, pending) => client.finish(address, pending),
    call: (path, times) =>
      Promise.all(Array.from({ length: times }, async () => (await client.call(path)).status as number)),
    accessToken: async () => client.tokens.accessToken,
    pass: seconds => moveWorldClock(seconds * 1_000),
  };
}

/** See `clientIn`. */
const DRIVER = `
import concurrent.futures, sys, urllib.error
client = Client(sys.argv[1])
world, ahead = time.time, 0
time.time = lambda: world() + ahead
def move(seconds):
    global ahead
    ahead += seconds
def status(path):
    try: return client.call(path).status
    except urllib.error.HTTPError as error: return error.code
def call(path, times):
    with concurrent.futures.ThreadPoolExecutor(times) as pool: return list(pool.map(status, [path] * times))
functions = {"begin": client.begin, "finish": client.finish, "call": call, "accessToken": lambda: client.tokens["accessToken"], "pass": move}
for line in sys.stdin:
    name, arguments = json.loads(line)
    try: answer = {"value": functions[name](*arguments)}
    except Exception as error: answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
`;

async function startPython(gateway: string): Promise<MovableClient> {
  ensureInstalled({ command: 'python3', versionArgs: ['--version'], packages: ['python3-minimal'] });
  const code = documentNamed('docs/clients.md').blockLines('python').join('\n');
  const child = spawn('python3', [await tempText('client.py', code + DRIVER), gateway], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  return clientIn(child);
}

/** The client in a process that answers a line of JSON, with the name of a function and its arguments, by a line of JSON. */
export function clientIn(child: ChildProcessByStdio<Writable, Readable, null>): MovableClient {
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const ask = async (name: string, ...parameters: readonly unknown[]) => {
    child.stdin.write(`${JSON.stringify([name, parameters])}\n`);
    const { value, error } = JSON.parse((await lines.next()).value ?? '{"error":"the client has ended"}');
    if (error !== undefined) throw new Error(error);
    return value;
  };
  return {
    async begin() {
      const [url, pending] = await ask('begin');
      return { url, pending };
    },
    finish: (address, pending) => ask('finish', address, pending),
    call: (path, times) => ask('call', path, times),
    accessToken: () => ask('accessToken'),
    pass: seconds => ask('pass', seconds),
  };
}
