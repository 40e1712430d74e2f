import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, posix } from 'node:path';
import { createInterface } from 'node:readline';
import { buildGo } from '../../go.ts';
import { ensureInstalled } from '../../installed.ts';
import { atEnd } from '../../lifetime.ts';

/** Which resource each program takes the path of a request for: its segments, by the program's name. */
export type Readings = Readonly<Record<string, readonly string[]>>;

/** Starts a service that answers every request with its `Readings`, and returns its port. The end of the running test ends it. */
export const pathReaders: Readonly<Record<'node' | 'go' | 'python' | 'java', () => Promise<number>>> = {
  async node() {
    const server = createServer(({ url = '/' }, response) => {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(readByNode(url)));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  },
  go: () => startProgram(buildGo(import.meta.dirname)),
  python() {
    ensureInstalled({ command: 'python3', versionArgs: ['--version'], packages: ['python3'] });
    return startProgram('python3', join(import.meta.dirname, 'readers.py'));
  },
  java() {
    ensureInstalled({ command: 'java', versionArgs: ['-version'], packages: ['openjdk-17-jdk-headless'] });
    return startProgram('java', join(import.meta.dirname, 'Readers.java'));
  },
};

function readByNode(url: string): Readings {
  const [raw = ''] = url.split('?');
  const once = decoded(raw);
  return {
    'node: not decoded': segmentsOf(raw),
    'node: segments decoded one by one': segmentsOf(raw).map(decoded),
    'node: an empty segment is a value': segmentsOf(raw).map((segment, at, all) =>
      segment === '' && at < all.length - 1 ? 'x' : segment,
    ),
    'node: decoded, normalised': segmentsOf(posix.normalize(once)),
    'node: decoded twice, normalised': segmentsOf(posix.normalize(decoded(once))),
    'node: URL': segmentsOf(new URL(`http://a${raw}`).pathname),
    'node: URL, decoded, backslashes as slashes': segmentsOf(
      posix.normalize(decoded(new URL(`http://a${raw}`).pathname).replaceAll('\\', '/')),
    ),
    'node: without empty segments and parameters': segmentsOf(once.replaceAll(/;[^/]*/g, '')).filter(Boolean),
  };
}

/** As careless programs do: what is no UTF-8 is taken byte by byte. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replaceAll(/%([0-9a-f]{2})/gi, (_, digits) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
  }
}

function segmentsOf(path: string): string[] {
  return path.split('/').slice(1);
}

/** Starts a program whose first line is the port where it listens. */
async function startProgram(command: string, ...args: string[]): Promise<number> {
  const program = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const gone = once(program, 'exit');
  atEnd(async () => {
    program.kill('SIGKILL');
    await gone;
  });
  for await (const line of createInterface(program.stdout)) return Number(line);
  throw new Error(`${command} ended before it listened`);
}
