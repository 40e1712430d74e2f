import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, startPart } from '../../../bench/world/part.ts';
import { ensureInstalled } from '../installed.ts';
import type { ForwardedRequest } from './proxy-fuzz.ts';

export type ProxyName = 'nginx' | 'haproxy';

/** A proxy in a process of its own, and a service behind it. */
export interface OtherProxy {
  readonly port: number;
  /** The whole requests that have come through it since the last call. */
  take(): ForwardedRequest[];
  stop(): Promise<void>;
}

type Configuration = (port: number, servicePort: number, folder: string) => string;

/** Both forward a request whole or not at all, and serve a client that has closed its side. */
const CONFIGURATIONS: Readonly<Record<ProxyName, Configuration>> = {
  nginx: (port, servicePort, folder) => `
daemon off;
worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log stderr emerg;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(kind => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  client_max_body_size 0;
  keepalive_requests 1000000000;
  upstream service { server 127.0.0.1:${servicePort}; keepalive 8; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_ignore_client_abort on;
    }
  }
}`,
  haproxy: (port, servicePort) => `
global
  nbthread 1
  maxconn 1000
defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
  option http-buffer-request
listen proxy
  bind 127.0.0.1:${port}
  server service 127.0.0.1:${servicePort}
`,
};
const ARGUMENTS: Readonly<Record<ProxyName, readonly string[]>> = {
  nginx: ['-e', 'stderr', '-c'],
  haproxy: ['-db', '-q', '-f'],
};

/** Starts the proxy, which it installs where tests may do so. Call `stop` when done. */
export async function startProxy(name: ProxyName): Promise<OtherProxy> {
  ensureInstalled({ command: name, versionArgs: ['-v'], packages: [name] });
  const folder = await mkdtemp(join(tmpdir(), 'weir-fuzz-'));
  const service = await startService();
  const port = await freePort();
  const file = join(folder, 'proxy.conf');
  await writeFile(file, CONFIGURATIONS[name](port, service.port, folder));
  const part = await startPart({ command: name, parameters: [...ARGUMENTS[name], file] }, port);
  return {
    port,
    take: () => service.requests.splice(0),
    stop: async () => {
      await part.stop();
      service.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** Reads with Node's server, and answers each whole request. */
async function startService() {
  const requests: ForwardedRequest[] = [];
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', text => {
      body += text;
    });
    request.on('end', () => {
      requests.push({ method: request.method ?? '', target: request.url ?? '', body });
      response.end('ok');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: address.port, requests, stop };
}
