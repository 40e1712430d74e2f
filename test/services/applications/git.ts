import { spawn } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { atEnd } from '../../support/lifetime.ts';
import { type Application, run } from '../application.ts';

/** How long a file is that makes git send a body in chunks (`http.postBuffer` is 1 MiB). */
const LONG_BYTES = 3 * 1024 ** 2;

/** The server that comes with git (`git http-backend`), by CGI, and git itself: push and clone, of short and long packs. */
export const git: Application = {
  name: 'git http-backend (git 2.39)',
  usedBy: '`git push` and `git clone`, packs of 3 MiB in chunks included',
  nginx: ['the push of 3 MiB is refused: 413', /413/],
  async start(folder) {
    const root = join(folder, 'repositories');
    await mkdir(root);
    const server = createServer((request, response) => serve(root, request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(() => {
      server.close();
      server.closeAllConnections();
    });
    return (server.address() as AddressInfo).port;
  },
  async use(url, folder, name) {
    const inRoot = (...args: string[]) => run(join(folder, 'repositories'), 'git', ...args);
    await inRoot('init', '--bare', '-b', 'main', `${name}.git`);
    await inRoot('-C', `${name}.git`, 'config', 'http.receivepack', 'true');
    await run(folder, 'git', 'init', '-b', 'main', name);
    const work = join(folder, name);
    const inWork = (...args: string[]) =>
      run(work, 'git', '-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args);
    for (const [file, bytes] of [
      ['short', 10],
      ['long', LONG_BYTES],
    ] as const) {
      // No packer makes this short.
      const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(
        Buffer.alloc(bytes),
      );
      await writeFile(join(work, file), noise);
      await inWork('add', file);
      await inWork('commit', '-m', file, '--date=2026-01-01T00:00:00Z');
      await inWork('push', `${url}/${name}.git`, 'main');
    }
    await run(folder, 'git', 'clone', `${url}/${name}.git`, `${name}-again`);
    const again = join(folder, `${name}-again`);
    return (await run(again, 'git', 'log', '--format=%s')) + (await run(again, 'git', 'ls-tree', 'HEAD'));
  },
};

/** RFC 3875, as far as git needs it. */
function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const cgi = spawn('git', ['http-backend'], {
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: path,
      QUERY_STRING: query,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      ...(request.headers['content-length'] !== undefined && {
        CONTENT_LENGTH: request.headers['content-length'],
      }),
    },
  });
  cgi.stdin.on('error', () => {});
  request.pipe(cgi.stdin);
  let head = Buffer.alloc(0);
  let isRead = false;
  cgi.stdout.on('data', (bytes: Buffer) => {
    if (isRead) return void response.write(bytes);
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    isRead = true;
    for (const line of head.toString('latin1', 0, end).split('\r\n')) {
      const [name = '', value = ''] = line.split(/: (.*)/s);
      if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
  });
  cgi.on('close', () => void response.end());
}
