import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { ensureInstalled } from './installed.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

const STREAM = '/usr/lib/nginx/modules/ngx_stream_module.so';

const HAPROXY = { command: 'haproxy', versionArgs: ['-v'], packages: ['haproxy'] };
const NGINX = {
  command: 'nginx',
  versionArgs: ['-v'],
  packages: ['nginx', 'libnginx-mod-stream'],
  module: STREAM,
};

/**
 * Starts an HAProxy that relays TCP to a port of 127.0.0.1; returns its own port.
 *
 * @param options of its `server` line
 */
export function startHaproxy(to: number, options: string, lines: readonly string[] = []): Promise<number> {
  ensureInstalled(HAPROXY);
  return startBalancer(
    'haproxy',
    ['-db', '-f'],
    port => `
global
  maxconn 100
defaults
  mode tcp
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout check 60s
listen relay
  bind 127.0.0.1:${port}
  ${lines.join('\n  ')}
  server weir 127.0.0.1:${to} ${options}
`,
  );
}

/** Starts an nginx with this `http` or `stream` section in its configuration; returns its own port. */
export function startNginx(section: (port: number) => string): Promise<number> {
  ensureInstalled(NGINX);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return startBalancer('nginx', ['-g', 'daemon off;', '-c'], (port, folder) => {
    const paths = temporary.map(name => `${name}_temp_path ${folder}/${name};`).join('\n');
    const text = section(port).replace(/^http \{/, `http {\naccess_log off;\n${paths}`);
    // Else its workers are somebody who may not enter the folder, where they put long bodies.
    const user = process.getuid?.() === 0 ? 'user root;\n' : '';
    return `load_module ${STREAM};\n${user}pid ${folder}/nginx.pid;\nerror_log stderr;\nevents {}\n${text}\n`;
  });
}

type Configuration = (port: number, folder: string) => string;

/** Starts a proxy with a configuration in a folder of its own; returns its port. The end of the running test ends it. */
export async function startBalancer(
  command: string,
  args: string[],
  configuration: Configuration,
  name = 'balancer.conf',
): Promise<number> {
  const [folder, port] = [await tempFolder(), await freePort()];
  const file = join(folder, name);
  await writeFile(file, configuration(port, folder));
  const balancer = spawn(command, [...args, file], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const gone = once(balancer, 'exit');
  let output = '';
  balancer.stderr.on('data', text => (output += String(text)));
  onTestFinished(async () => {
    balancer.kill('SIGTERM');
    await gone;
  });
  await waitFor(`${command} listens`, () => {
    if (balancer.exitCode !== null) throw new Error(`${command} ended: ${output}`);
    return listens(port);
  });
  return port;
}

/** Whether something listens at this port of 127.0.0.1. */
export async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const listening = await new Promise<boolean>(resolve => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  });
  socket.destroy();
  return listening;
}
