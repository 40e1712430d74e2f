import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPart } from '../world/part.ts';
import { type Job, routePrefixes } from './job.ts';
import { type Peer, type Surroundings, upstreamPortsOf, versionOf } from './peer.ts';

/** It answers more than 65,535 requests of HTTP/2 per second, which is what the others' limits allow. */
const OUT_OF_REACH_PER_SECOND = 10_000_000;

export const haproxy: Peer = {
  name: 'HAProxy',
  install: 'apt-get install haproxy',
  version: () => versionOf('haproxy', '-v'),
  leavesOut: job => (job.token ? 'it remembers no checked tokens: limits only' : null),
  async start(job, surroundings) {
    const file = join(surroundings.directory, 'haproxy.cfg');
    await writeFile(file, configuration(job, surroundings));
    await writeFile(
      mapFile(surroundings),
      routePrefixes(job)
        .map(path => `${path} api\n`)
        .join(''),
    );
    return startPart({ command: 'haproxy', parameters: ['-f', file, '-db', '-q'] }, surroundings.port);
  },
};

/** Many routes are kept in a map, as its manual advises. */
function mapFile({ directory }: Surroundings): string {
  return join(directory, 'routes.map');
}

function configuration(job: Job, surroundings: Surroundings): string {
  const { port, certificate } = surroundings;
  const protocol = {
    http1: '',
    websocket: '',
    h2c: 'proto h2',
    grpc: 'proto h2',
    tls: `ssl crt ${certificate.bothFile} alpn http/1.1`,
  }[job.clients];
  const choice = job.routes === 1 ? '' : `  use_backend %[path,map_beg(${mapFile(surroundings)})]`;
  return `
global
  nbthread 1
  maxconn 8000
defaults
  mode http
  maxconn 8000
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 75s
  timeout tunnel 10m
  http-reuse always
frontend gateway
  bind 127.0.0.1:${port} ${protocol} backlog 4096
${limits(job)}
${choice}
  default_backend api
backend api
${servers(job, surroundings)}
${tables(job)}
`;
}

function servers(job: Job, surroundings: Surroundings): string {
  const protocol = job.clients === 'grpc' ? 'proto h2' : '';
  const lines = upstreamPortsOf(job, surroundings).map(
    (port, index) => `  server upstream-${index} 127.0.0.1:${port} ${protocol} maxconn 8192`,
  );
  return [...(job.endpointPorts === null ? [] : ['  balance leastconn']), ...lines].join('\n');
}

/** A stick table belongs to a backend, which need not serve anything. */
function tables(job: Job): string {
  if (job.limits === 'none') return '';
  const period = job.limits === 'spent' || job.forwardedAddresses ? '1h' : '1s';
  const [type, size] = job.forwardedAddresses ? ['string len 15', '1200k'] : ['ip', '100k'];
  return `
backend addresses
  stick-table type ${type} size ${size} expire 1h store http_req_rate(${period})
backend callers
  stick-table type integer size 100k expire 1h store http_req_rate(${period})`;
}

function limits(job: Job): string {
  if (job.limits === 'none') return '';
  const max = job.limits === 'spent' ? 1 : OUT_OF_REACH_PER_SECOND;
  const address = job.forwardedAddresses ? 'req.hdr(X-Forwarded-For)' : 'src';
  const caller = `  http-request track-sc1 req.fhdr(Authorization),xxh32 table callers
  http-request deny deny_status 429 if { sc_http_req_rate(1,callers) gt ${max} }`;
  return `
  http-request track-sc0 ${address} table addresses
  http-request deny deny_status 429 if { sc_http_req_rate(0,addresses) gt ${max} }
${job.forwardedAddresses ? '' : caller}`;
}
