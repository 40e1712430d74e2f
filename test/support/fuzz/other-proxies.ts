import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPart } from '../../../bench/world/part.ts';
import { freePort } from '../free-port.ts';
import { ensureInstalled } from '../installed.ts';

export type ProxyName = 'nginx' | 'haproxy';

/** What a service behind a proxy was sent. */
export interface ForwardedRequest {
  readonly method: string;
  readonly target: string;
  /** As they came, those of the proxy among them. */
  readonly fields: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
}

/** The field in which a proxy says the client's port; it overwrites what a client sends. */
const CLIENT_PORT = 'x-client-port';

/** A proxy in a process of its own, and a service behind it. */
export interface OtherProxy {
  readonly port: number;
  /** The whole requests that have come through it since the last call: of one client, or of all. */
  take(clientPort?: number): ForwardedRequest[];
  stop(): Promise<void>;
}

interface Surroundings {
  readonly port: number;
  readonly servicePort: number;
  readonly folder: string;
  /** Whether clients speak HTTP/2, with prior knowledge. */
  readonly http2: boolean;
}

/** Both forward a request whole or not at all, and serve a client that has closed its side. */
const CONFIGURATIONS: Readonly<Record<ProxyName, (surroundings: Surroundings) => string>> = {
  nginx: ({ port, servicePort, folder, http2 }) => `
daemon off;
worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log stderr emerg;
events { worker_connections 4096; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(kind => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  client_max_body_size 0;
  keepalive_requests 1000000000;
  upstream service { server 127.0.0.1:${servicePort}; keepalive 8; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port}${http2 ? ' http2' : ''};
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header ${CLIENT_PORT} $remote_port;
      proxy_ignore_client_abort on;
    }
  }
}`,
  haproxy: ({ port, servicePort, http2 }) => `
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
  bind 127.0.0.1:${port}${http2 ? ' proto h2' : ''}
  http-request set-header ${CLIENT_PORT} %[src_port]
  server service 127.0.0.1:${servicePort}
`,
};
const ARGUMENTS: Readonly<Record<ProxyName, readonly string[]>> = {
  nginx: ['-e', 'stderr', '-c'],
  haproxy: ['-db', '-q', '-f'],
};

/** Starts the proxy, which it installs where tests may do so. Call `stop` when done. */
export async function startProxy(name: ProxyName, { http2 = false } = {}): Promise<OtherProxy> {
  ensureInstalled({ command: name, versionArgs: ['-v'], packages: [name] });
  const folder = await mkdtemp(join(tmpdir(), 'weir-fuzz-'));
  const service = await startService();
  const port = await freePort();
  const file = join(folder, 'proxy.conf');
  await writeFile(file, CONFIGURATIONS[name]({ port, servicePort: service.port, folder, http2 }));
  const part = await startPart({ command: name, parameters: [...ARGUMENTS[name], file] }, port);
  return {
    port,
    take: clientPort => service.take(clientPort),
    stop: async () => {
      await part.stop();
      service.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** Reads with Node's server, and answers each whole request. */
async function startService() {
  let requests: ForwardedRequest[] = [];
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', text => {
      body += text;
    });
    request.on('end', () => {
      const { method = '', url: target = '', rawHeaders: fields, rawTrailers: trailers } = request;
      requests.push({ method, target, fields, body, trailers });
      response.writeHead(204).end();
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
  const take = (clientPort: number | undefined) => {
    const isTaken = ({ fields }: ForwardedRequest) =>
      clientPort === undefined || fields[fields.indexOf(CLIENT_PORT) + 1] === String(clientPort);
    const taken = requests.filter(isTaken);
    requests = requests.filter(request => !isTaken(request));
    return taken;
  };
  return { port: address.port, take, stop };
}
