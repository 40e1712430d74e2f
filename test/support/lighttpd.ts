import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { listens } from './balancers.ts';
import { freePort } from './free-port.ts';
import { ensureInstalled } from './installed.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

/** Once before the tests of a file, with time for a download. */
export function installLighttpd(): void {
  ensureInstalled({ command: 'lighttpd', versionArgs: ['-v'], packages: ['lighttpd'] });
  ensureInstalled({ command: 'php-cgi', versionArgs: ['-v'], packages: ['php-cgi'] });
}

/** Pages of the server that `startLighttpd` starts: each returns the variables it received, one `NAME=value` per line. */
export const PAGES = { cgi: '/variables.cgi', php: '/variables.php' } as const;

/** A folder of it: the server redirects from here to the path with a slash at its end. */
export const FOLDER = '/some/folder';

/** A program of CGI gets its variables as they are, doubled ones too; only its own environment still shows them so. */
const CGI = String.raw`printf 'Content-Type: text/plain\r\n\r\n'; tr '\000' '\n' < /proc/$$/environ`;
const PHP =
  '<?php header("Content-Type: text/plain"); foreach ($_SERVER as $k => $v) if (is_string($v)) echo "$k=$v\\n";';

/** Starts a lighttpd that runs programs by CGI, and PHP by FastCGI; returns its port. The end of the running test ends it. */
export async function startLighttpd(): Promise<number> {
  const [folder, port] = [await tempFolder(), await freePort()];
  await writeFile(join(folder, PAGES.cgi), CGI);
  await writeFile(join(folder, PAGES.php), PHP);
  await mkdir(join(folder, FOLDER), { recursive: true });
  await writeFile(join(folder, 'lighttpd.conf'), configuration(folder, port));
  const server = spawn('lighttpd', ['-D', '-f', join(folder, 'lighttpd.conf')], {
    // Nothing of this environment is in the responses.
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const gone = once(server, 'exit');
  let output = '';
  server.stderr.on('data', text => (output += String(text)));
  onTestFinished(async () => {
    server.kill('SIGTERM');
    await gone;
  });
  await waitFor('lighttpd listens', () => {
    if (server.exitCode !== null) throw new Error(`lighttpd ended: ${output}`);
    return listens(port);
  });
  return port;
}

function configuration(folder: string, port: number): string {
  return `
server.document-root = "${folder}"
server.bind = "127.0.0.1"
server.port = ${port}
server.modules = ("mod_cgi", "mod_fastcgi")
cgi.assign = (".cgi" => "/bin/sh")
fastcgi.server = (".php" => ((
  "bin-path" => "/usr/bin/env php-cgi",
  "socket" => "${folder}/php.socket",
  "max-procs" => 1,
  "bin-environment" => ("PHP_FCGI_CHILDREN" => "1")
)))
`;
}
