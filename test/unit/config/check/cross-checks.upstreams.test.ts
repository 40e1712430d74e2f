import { expect, it } from 'vitest';
import { diagnosticsIn } from '../../../support/config-text.ts';

/** What is said of an upstream with this protocol and these keys. */
async function saidOf(protocol: string, keys: string) {
  const route = protocol === 'grpc' ? 'grpc: a.B/C' : 'path: /a';
  return (
    await diagnosticsIn(`upstreams: { api: { url: "http://api:3000", protocol: ${protocol}, ${keys} } }
listen: { http: "127.0.0.1:0", grpc: "127.0.0.1:0" }
routes: [{ ${route}, upstream: api, authentication: none }]
`)
  ).filter(text => text.includes('upstreams.'));
}

const KEYS: [key: string, text: string, protocols: string[]][] = [
  ['h2', 'h2: { max_streams: 7 }', ['h2', 'grpc']],
  ['first_byte', 'timeouts: { first_byte: 7s }', ['http1', 'h2']],
  ['idle', 'timeouts: { idle: 7s }', ['http1', 'h2']],
  ['websocket_idle', 'timeouts: { websocket_idle: 7s }', ['http1']],
  ['max_requests', 'max_requests: 7', ['http1', 'h2']],
  ['max_requests_per_caller', 'max_requests_per_caller: 7%', ['http1', 'h2']],
  ['max_grpc_calls', 'max_grpc_calls: 7', ['grpc']],
  ['max_grpc_calls_per_caller', 'max_grpc_calls_per_caller: 7%', ['grpc']],
  ['max_websockets', 'max_websockets: 7', ['http1']],
  ['max_websockets_per_caller', 'max_websockets_per_caller: 7%', ['http1']],
];

it.each(KEYS)('%s is an error beside a protocol that has no use for it', async (key, text, protocols) => {
  for (const protocol of ['http1', 'h2', 'grpc']) {
    const message = `"${key}" is for upstreams with protocol ${protocols.join(' or ')}: this one speaks ${protocol}`;
    const expected = protocols.includes(protocol) ? [] : [expect.stringContaining(message)];
    expect(await saidOf(protocol, text), protocol).toEqual(expected);
  }
});

it('an error is found at its key, and where no protocol is named', async () => {
  expect(
    await diagnosticsIn(
      'routes: [{ path: /a, upstream: api, authentication: none }]\nupstreams: { api: { url: "http://api:3000", timeouts: { connect: 1s }, h2: { ping_timeout: 1s } } }\n',
    ),
  ).toEqual(['2:72: upstreams.api: "h2" is for upstreams with protocol h2 or grpc: this one speaks http1']);
});

it('a section that is empty says nothing', async () => {
  expect(await saidOf('http1', 'h2: {}')).toEqual([]);
});

it('a protocol that there is not is told by itself', async () => {
  expect(await saidOf('h3', 'h2: { max_streams: 7 }')).toHaveLength(1);
});

const SELF =
  'warning: upstreams.api.URL: this is the gateway itself (listen.NAME), so each request would return to it: in a container, localhost is the container';

it.each([
  ['', 'url: "http://localhost:8080"', 'url', 'http'],
  ['http: "0.0.0.0:80"', 'url: "http://127.0.0.1"', 'url', 'http'],
  ['http: "[::]:1234"', 'urls: ["http://10.0.0.1:1234", { url: "http://[::1]:1234" }]', 'urls[1]', 'http'],
  ['http: "10.0.0.1:1234"', 'url: "https://10.0.0.1:1234"', 'url', 'http'],
  ['grpc: "[::]:9000"', 'url: "http://localhost:9000"', 'url', 'grpc'],
])('an upstream that is the gateway itself is told: %s, %s', async (listen, url, key, name) => {
  const said = await diagnosticsIn(
    `upstreams: { api: { ${url} } }\nlisten: { ${listen} }\nroutes: [{ path: /a, upstream: api, authentication: none }]\n`,
  );
  expect(
    said.filter(text => text.includes('gateway itself')).map(text => text.replace(/^[\d:]+ /, '')),
  ).toEqual([SELF.replace('URL', key).replace('NAME', name)]);
});

it.each([
  ['http: "0.0.0.0:8080"', 'http://10.0.0.1:8080'],
  ['http: "0.0.0.0:8080"', 'http://api:8080'],
  ['http: "0.0.0.0:8080"', 'http://localhost:8081'],
  ['http: "127.0.0.1:0"', 'http://localhost:80'],
  ['http: "127.0.0.1:8080"', 'http://127.0.0.2:8080'],
  ['http: "127.0.0.1:8080"', 'http://[::1]:8080'],
  ['http: "unix:/run/weir.sock"', 'unix:/run/app.sock'],
  ['http: "127.0.0.1:9"', 'srv+http://_http._tcp.localhost'],
])('an upstream that may be another is not: %s, %s', async (listen, url) => {
  const said = await diagnosticsIn(
    `upstreams: { api: { url: "${url}" } }\nlisten: { ${listen} }\nroutes: [{ path: /a, upstream: api, authentication: none }]\n`,
  );
  expect(said.filter(text => text.includes('gateway itself'))).toEqual([]);
});
