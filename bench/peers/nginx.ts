import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPart } from '../world/part.ts';
import { type Job, routePrefixes } from './job.ts';
import {
  NEVER_REACHED_PER_SECOND,
  type Peer,
  type Surroundings,
  upstreamPortsOf,
  versionOf,
} from './peer.ts';

export const nginx: Peer = {
  name: 'nginx',
  install: 'apt-get install nginx',
  version: () => versionOf('nginx', '-v'),
  leavesOut: job => (job.token ? 'its free edition checks no tokens: limits only' : null),
  async start(job, surroundings) {
    const file = join(surroundings.directory, 'nginx.conf');
    await writeFile(file, configuration(job, surroundings));
    return startPart(
      { command: 'nginx', parameters: ['-c', file, '-e', 'stderr', '-p', surroundings.directory] },
      surroundings.port,
    );
  },
};

function servers(job: Job, surroundings: Surroundings): string {
  const lines = upstreamPortsOf(job, surroundings).map(port => `server 127.0.0.1:${port};`);
  return [...(job.endpointPorts === null ? [] : ['least_conn;']), ...lines].join(' ');
}

function configuration(job: Job, surroundings: Surroundings): string {
  const { directory, port, certificate } = surroundings;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(kind => `  ${kind}_temp_path ${directory};`)
    .join('\n');
  return `
daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes ${job.threads};
pid ${directory}/nginx.pid;
error_log stderr emerg;
events { worker_connections 16384; }
http {
  access_log off;
${temporary}
  client_max_body_size 0;
  keepalive_requests 1000000000;
${zones(job)}
  upstream api { ${servers(job, surroundings)} keepalive 1024; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} ${{ http1: '', websocket: '', h2c: 'http2', grpc: 'http2', tls: 'ssl' }[job.clients]} backlog=4096;
    ${job.clients === 'tls' ? tlsFiles(certificate) : ''}
    proxy_http_version 1.1;
    ${job.clients === 'websocket' ? 'proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection Upgrade;' : 'proxy_set_header Connection "";'}
    proxy_set_header Host $host;
    # Bodies flow; nothing is written to disk.
    proxy_request_buffering off;
    proxy_max_temp_file_size 0;
${limits(job)}
${routePrefixes(job)
  .map(
    path =>
      `    location ${path} { ${job.clients === 'grpc' ? 'grpc_pass grpc://api' : 'proxy_pass http://api'}; }`,
  )
  .join('\n')}
  }
}`;
}

function tlsFiles({ certificateFile, keyFile }: Surroundings['certificate']): string {
  return `ssl_certificate ${certificateFile}; ssl_certificate_key ${keyFile}; ssl_protocols TLSv1.2 TLSv1.3;`;
}

function zones(job: Job): string {
  const rate = job.limits === 'spent' ? '1r/m' : `${NEVER_REACHED_PER_SECOND}r/s`;
  const address = job.forwardedAddresses ? '$http_x_forwarded_for' : '$binary_remote_addr';
  return `
  limit_req_zone ${address} zone=address:${job.forwardedAddresses ? '256m' : '10m'} rate=${job.forwardedAddresses ? '1r/m' : rate};
  limit_req_zone $http_authorization zone=caller:32m rate=${rate};
  limit_req_status 429;`;
}

function limits(job: Job): string {
  if (job.limits === 'none') return '';
  const burst = job.limits === 'spent' ? '' : ` burst=${NEVER_REACHED_PER_SECOND} nodelay`;
  const zones = job.forwardedAddresses ? ['address'] : ['address', 'caller'];
  return zones.map(zone => `    limit_req zone=${zone}${burst};`).join('\n');
}
