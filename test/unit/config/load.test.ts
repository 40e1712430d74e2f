import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/index.ts';
import { diagnosticsIn, diagnosticsOf, loadFiles, NEEDED } from '../../support/config-text.ts';
import { tempFolder } from '../../support/temp.ts';

const TIME = 'expected a time such as 250ms, 5s, 10m or 1h';
const SIZE = 'expected a size such as 512B, 64KiB or 10MiB';
const HOST_PORT = 'expected host:port such as 0.0.0.0:8080, 127.0.0.1:8080 or "[::]:8080"';
const HEADERS = 'expected a list of header fields such as [X-Tenant], or a map such as { keep: [X-Host] }';
const URL = 'expected a URL such as http://api.internal:3000';

/** An upstream with these keys beside its name, in the flow of line 1. */
const upstreamWith = (keys: string): string =>
  `upstreams: { api: { ${keys} } }\nroutes: [{ path: /**, upstream: api, authentication: none }]\n`;

/** A route with these keys, in line 1 from column 12 on. */
const routeWith = (keys: string): string =>
  `routes: [{ ${keys} }]\nupstreams: { api: { url: "http://api:3000" } }\n`;

const NO_SRV_NAME =
  'SRV records belong to a name, such as srv+http://_http._tcp.api.internal: write an address with http:// alone';

describe('a file that is no configuration', () => {
  it.each([
    ['nothing', ''],
    ['comments alone', '# upstreams:\n#   api:\n'],
  ])('is said to be empty when it holds %s', async (_, text) => {
    expect(await diagnosticsIn(text)).toEqual(['1:1: the file is empty, or all of it is commented out']);
  });

  it.each([
    ['a list', '- a\n', '1:1: expected a map of keys, found a list'],
    ['a word', 'gateway\n', '1:1: expected a map of keys, found text'],
  ])('is said to be %s', async (_, text, diagnostic) => {
    expect(await diagnosticsIn(text)).toEqual([diagnostic]);
  });

  it('gets its syntax errors reported, and nothing that follows from them', async () => {
    expect(await diagnosticsIn('routes:\n  - path: /a\n   upstream: b\n')).toEqual([
      '3:1: this is not valid YAML: indent this line like the others of its map, or begin it with "- " like those of its list',
    ]);
  });

  it('may not even be there', async () => {
    const file = join(await tempFolder(), 'gateway.yaml');
    expect(await loadConfig(file, { env: {}, generation: 1 })).toMatchObject({
      ok: false,
      diagnostics: [{ file, line: null, message: `no such file (${file})` }],
    });
  });
});

describe('keys', () => {
  it.each([
    ['at the top', `lisen: {}\n${NEEDED}`, '1:1: unknown key "lisen", did you mean "listen"?'],
    ['that resembles none', `soap: {}\n${NEEDED}`, '1:1: unknown key "soap"'],
    [
      'in a section',
      `caps: { header: 1 }\n${NEEDED}`,
      '1:9: caps: unknown key "header", did you mean "head"?',
    ],
    [
      'of an upstream',
      upstreamWith('url: "http://a", keepalive: 4s'),
      '1:38: upstreams.api: unknown key "keepalive", did you mean "keep_alive"?',
    ],
    [
      'of a route',
      routeWith('path: /, upstream: api, authentication: none, method: [GET]'),
      '1:58: routes[0]: unknown key "method", did you mean "methods"?',
    ],
    [
      'of the times of a route',
      routeWith('path: /, upstream: api, authentication: none, timeouts: { connect: 1s }'),
      '1:70: routes[0].timeouts: unknown key "connect": it belongs in "upstreams.NAME.timeouts"',
    ],
  ])('are refused when there is no such key %s', async (_, text, diagnostic) => {
    expect(await diagnosticsIn(text)).toEqual([diagnostic]);
  });

  it.each([
    [
      'routes',
      'upstreams: {}\n',
      '1:1: missing key "routes": expected a list of routes, each of which begins with "- path:"',
    ],
    [
      'upstreams',
      'routes: []\n',
      '1:1: missing key "upstreams": expected a map such as { api: { url: "http://api.internal:3000" } }',
    ],
    ['url', upstreamWith('host: client'), `1:19: upstreams.api: missing key "url": ${URL}`],
    [
      'path',
      routeWith('upstream: api, authentication: none'),
      '1:10: routes[0]: missing key "path": expected a path such as /v1/things/{id} or /v1/**',
    ],
    [
      'upstream',
      routeWith('path: /, authentication: none'),
      '1:10: routes[0]: missing key "upstream": expected the name of an upstream',
    ],
  ])('must be there: %s', async (_, text, diagnostic) => {
    expect(await diagnosticsIn(text)).toEqual([diagnostic]);
  });

  it('that are misspelt are not said to be missing as well', async () => {
    expect(await diagnosticsIn(routeWith('path: /, upstrem: api, authentication: none'))).toEqual([
      '1:21: routes[0]: unknown key "upstrem", did you mean "upstream"?',
    ]);
  });

  it('must have a value', async () => {
    expect(await diagnosticsIn(`listen:\n  http:\ntimeouts:\n${NEEDED}`)).toEqual([
      `2:3: listen.http: ${HOST_PORT}, found nothing`,
      '3:1: timeouts: expected a map of keys, found nothing',
    ]);
  });

  it('that come twice are reported with the other errors', async () => {
    expect(await diagnosticsIn(`log: {}\nlog: {}\nfoo: 1\n${NEEDED}`)).toEqual([
      '2:1: the key "log" is already there, in line 1',
      '3:1: unknown key "foo"',
    ]);
  });
});

describe('values', () => {
  it.each([
    ['listen: { http: 8080 }', `1:17: listen.http: ${HOST_PORT}, found 8080`],
    ['listen: { http: ":8080" }', `1:17: listen.http: ${HOST_PORT}, found ":8080"`],
    ['listen: { http: "localhost:70000" }', `1:17: listen.http: ${HOST_PORT}, found "localhost:70000"`],
    ['listen: { http: off }', `1:17: listen.http: ${HOST_PORT}, found "off"`],
    [
      'listen: { admin: no }',
      '1:18: listen.admin: expected off, or host:port such as 127.0.0.1:9090 or "[::1]:9090", found "no"',
    ],
    [
      'listen: { http: 0.0.0.0:80, admin: 127.0.0.1:80 }',
      '1:36: listen.admin: http already listens on this address: use another port',
    ],
    [
      'trusted_proxies: 10.0.0.0/8',
      '1:18: trusted_proxies: expected the word none, or a list of networks such as [10.1.0.0/16], found "10.0.0.0/8"',
    ],
    [
      'trusted_proxies: [10.0.0.0/8, proxy]',
      '1:31: trusted_proxies[1]: expected a network or an address such as 10.1.0.0/16, 2001:db8::/32 or 192.0.2.7, found "proxy"',
    ],
    [
      'trusted_proxies: [10.0.0.0/33]',
      '1:19: trusted_proxies[0]: "10.0.0.0/33" is not an address or network: write 192.0.2.7, 10.1.0.0/16 or 2001:db8::/32',
    ],
    ...[
      '0.0.0.0/0',
      '"::/0"',
      '128.0.0.0/1',
      '"2000::/3"',
      '"::ffff:0:0/96"',
      '"0:0:0:0:0:ffff:0.0.0.0/96"',
      '"::/1"',
    ].map((network): [string, string] => [
      `trusted_proxies: [10.0.0.0/8, "fc00::/7", 172.16.0.0/12, "::1", 192.0.2.7, ${network}]`,
      '1:76: warning: trusted_proxies[5]: this network includes addresses that are not yours, and anyone there could claim to be any client: list only your own proxies',
    ]),
    [
      'forwarding_headers: ["X Real"]',
      '1:22: forwarding_headers[0]: expected the name of a header field such as X-Real-IP, or the beginning of several such as X-Corp-*, found "X Real"',
    ],
    [
      'forwarding_headers: [X-Mine, X.Request_Id]',
      '1:30: forwarding_headers[1]: the gateway reads this field in every request: remove it from the list',
    ],
    ['forwarding_headers: X-Mine', `1:21: forwarding_headers: ${HEADERS}, found "X-Mine"`],
    [
      'forwarding_headers: { keep: [X Host] }',
      '1:30: forwarding_headers.keep[0]: expected the name of a header field such as X-Real-IP, or the beginning of several such as X-Corp-*, found "X Host"',
    ],
    ...['X-*', 'X-*-User'].map((name): [string, string] => [
      `forwarding_headers: { remove: [${name}] }`,
      `1:32: forwarding_headers.remove[0]: expected the name of a header field such as X-Real-IP, or the beginning of several such as X-Corp-*, found "${name}"`,
    ]),
    [
      'forwarding_headers: { kep: [X-Host] }',
      '1:23: forwarding_headers: unknown key "kep", did you mean "keep"?',
    ],
    ...[
      ...['X-Forwarded-For', 'x_forwarded_proto', 'X-Forwarded-Host', 'X-Request-Id', 'Via', 'Host'],
      ...['Authorization', 'Content-Length', 'TE', 'X-HTTP-Method-Override', 'X.Original.URL'],
    ].map((name): [string, string] => [
      `forwarding_headers: { keep: [${name}] }`,
      '1:30: forwarding_headers.keep[0]: the gateway always writes or removes this field, so it cannot be kept: remove it from the list',
    ]),
    [
      'forwarding_headers: { remove: [X-Mine, X-Host], keep: [X.Host] }',
      '1:56: forwarding_headers.keep[0]: "X.Host" is also listed under "remove": keep one of the two',
    ],
    [
      'forwarding_headers: { send: [X-Real-IP, X-Real-IP] }',
      '1:41: forwarding_headers.send[1]: this field is named twice: keep one',
    ],
    [
      'forwarding_headers: { send: [X-Forwarded-For] }',
      '1:30: forwarding_headers.send[0]: expected "X-Real-IP", "X-Forwarded-Port", "X-Forwarded-Prefix" or "X-Script-Name", found "X-Forwarded-For", did you mean "X-Forwarded-Port"?',
    ],
    [
      'forwarding_headers: { remove: [X_Real.IP], send: [X-Real-IP] }',
      '1:32: forwarding_headers.remove[0]: the gateway sends this field: remove it from this list',
    ],
    [
      'forwarding_headers: { keep: [X-Forwarded-*], send: [X-Forwarded-Port] }',
      '1:30: forwarding_headers.keep[0]: the gateway sends this field: remove it from this list',
    ],
    [
      'forwarding_headers: { keep: [X-Host, X-Mine] }',
      '1:38: warning: forwarding_headers.keep[1]: nothing removes this field: leave it out',
    ],
    [
      'forwarding_headers: { remove: [X-Corp-*], keep: [X-Corp-Id, X-Consumer*, X-Consumer-ID, X-Goog-*, X-Hasura-*] }',
      '1:99: warning: forwarding_headers.keep[4]: nothing removes this field: leave it out',
    ],
    [
      'forwarding_headers: [X-Mine, HOST]',
      '1:30: forwarding_headers[1]: the gateway reads this field in every request: remove it from the list',
    ],
    ['timeouts: { keep_alive: 75 }', `1:25: timeouts.keep_alive: ${TIME}, found 75`],
    ['timeouts: { keep_alive: 75 s }', `1:25: timeouts.keep_alive: ${TIME}, found "75 s"`],
    ['timeouts: { keep_alive: 1d }', `1:25: timeouts.keep_alive: ${TIME}, found "1d"`],
    [
      'timeouts: { keep_alive: 0s }',
      '1:25: timeouts.keep_alive: expected a time from 1ms to 24h, found "0s"',
    ],
    [
      'timeouts: { keep_alive: 25h }',
      '1:25: timeouts.keep_alive: expected a time from 1ms to 24h, found "25h"',
    ],
    ['shutdown: { drain: 1441m }', '1:20: shutdown.drain: expected a time from 0ms to 24h, found "1441m"'],
    ['caps: { head: 16KB }', `1:15: caps.head: ${SIZE}, found "16KB"`],
    ['caps: { head: 16384 }', `1:15: caps.head: ${SIZE}, found 16384`],
    ['caps: { head: 1023B }', '1:15: caps.head: expected a size from 1KiB to 1MiB, found "1023B"'],
    ['caps: { head: 2MiB }', '1:15: caps.head: expected a size from 1KiB to 1MiB, found "2MiB"'],
    ['caps: { fields: 0 }', '1:17: caps.fields: expected a whole number from 1 to 1000, found 0'],
    ['caps: { fields: 1.5 }', '1:17: caps.fields: expected a whole number from 1 to 1000, found 1.5'],
    ['caps: { fields: "9" }', '1:17: caps.fields: expected a whole number from 1 to 1000, found "9"'],
    ['caps: { fields: [1] }', '1:17: caps.fields: expected a whole number from 1 to 1000, found a list'],
    [
      'log: { level: warning }',
      '1:15: log.level: expected "trace", "debug", "info", "warn", "error", "fatal" or "silent", found "warning", did you mean "warn"?',
    ],
    ['log: { access: yes }', '1:16: log.access: expected true or false, found "yes"'],
  ])('are refused: %s', async (text, diagnostic) => {
    expect(await diagnosticsIn(`${text}\n${NEEDED}`)).toEqual([diagnostic]);
  });

  it.each([
    [
      'ftp://api',
      'expected a URL that starts with http:// or https://, such as http://api.internal:3000, found "ftp://api"',
    ],
    [
      'api:3000',
      'expected a URL that starts with http:// or https://, such as http://api.internal:3000, found "api:3000"',
    ],
    ['wss://api', 'write http:// (https:// for wss), and websocket: true on the route'],
    ['h2c://api', 'write http:// and protocol: h2'],
    ['grpcs://api', 'write http:// (https:// for grpcs) and protocol: grpc'],
    [
      'fastcgi://api:9000',
      'services are asked by HTTP: let this one serve HTTP itself, or put a server in front of it that speaks both (nginx, Caddy)',
    ],
    [
      'http://user:secret@api',
      'the URL of an upstream cannot contain a user or password: remove everything up to the "@"',
    ],
    ['srv+http://_http._tcp.api:3000', 'SRV records name the ports themselves: remove the port from the URL'],
    ['srv+https://10.0.0.1', NO_SRV_NAME],
    ['srv+http://[::1]', NO_SRV_NAME],
    [
      'srv+http://user@api',
      'the URL of an upstream cannot contain a user or password: remove everything up to the "@"',
    ],
    ['http://api:3000/', 'the URL of an upstream ends without a slash: write http://api:3000'],
    ['http://api/a/b//', 'the URL of an upstream ends without a slash: write http://api/a/b'],
    ['http://api/a//b', 'the path of the URL: it has an empty segment: write "/a/b"'],
    ['http://api/%61', 'the path of the URL: paths are matched with %61 decoded: write "a"'],
    [
      'http://api/a/../b',
      'the path of the URL: the gateway refuses the segment "..": write the path it leads to',
    ],
    ['http://api/{a}', 'the path of the URL is the same for all requests: write it without {} and *'],
    ['http://api/a;b', 'services disagree about a ";" in a path: leave it out of the URL'],
    [
      'http://api?x',
      'the URL of an upstream ends with its path: requests keep their own query, so remove the "?" or "#" and everything after it',
    ],
    [
      'http://api/a/?x',
      'the URL of an upstream ends with its path: requests keep their own query, so remove the "?" or "#" and everything after it',
    ],
    ['http://', `${URL}, found "http://"`],
    ['http://api:70000', `${URL}, found "http://api:70000"`],
    ['http://api:0', `${URL}, found "http://api:0"`],
    ['http://10.1', `${URL}, found "http://10.1"`],
    ['http://::1', `${URL}, found "http://::1"`],
  ])('are refused as the URL of an upstream: %s', async (url, message) => {
    expect(await diagnosticsIn(upstreamWith(`url: "${url}"`))).toEqual([
      `1:26: upstreams.api.url: ${message}`,
    ]);
  });

  const HOST = 'expected client, upstream, or a name such as api.internal';

  it.each([
    ['clinet', 'write client, or "clinet:80" for a host of this name'],
    ['Upstream', 'write upstream, or "Upstream:80" for a host of this name'],
    ['http://api.internal/', 'a host has no scheme: write api.internal'],
    ['a b', `${HOST}, found "a b"`],
    ['user@api', `${HOST}, found "user@api"`],
    ['api/x', `${HOST}, found "api/x"`],
    ['api:70000', `${HOST}, found "api:70000"`],
    ['b\u00fccher.test', `${HOST}, found "b\u00fccher.test"`],
    ['*.api.internal', `${HOST}, found "*.api.internal"`],
  ])('are refused as the host of an upstream: %s', async (host, message) => {
    expect(await diagnosticsIn(upstreamWith(`url: "http://api", host: "${host}"`))).toEqual([
      `1:46: upstreams.api.host: ${message}`,
    ]);
  });

  it.each([
    'client',
    'upstream',
    'api.internal',
    'api_1:8443',
    'clients:80',
    'client-api',
    '10.0.0.1',
    '[::1]:80',
  ])('are the host of an upstream: %s', async host => {
    expect(await diagnosticsIn(upstreamWith(`url: "http://api", host: "${host}"`))).toEqual([]);
  });

  it.each([
    [
      'authorization: removed',
      '1:55: upstreams.api.authorization: expected "pass" or "remove", found "removed", did you mean "remove"?',
    ],
    ['timeouts: { idle: "" }', `1:52: upstreams.api.timeouts.idle: ${TIME}, found nothing`],
    [
      'max_requests_per_caller: 0%',
      '1:65: upstreams.api.max_requests_per_caller: expected a percentage from 1% to 100%, found "0%"',
    ],
    [
      'max_requests_per_caller: 0.25',
      '1:65: upstreams.api.max_requests_per_caller: expected a percentage from 1% to 100%, found 0.25',
    ],
    [
      'max_requests: -1',
      '1:54: upstreams.api.max_requests: expected a whole number from 1 to 1000000, found -1',
    ],
    ['max_head: none', `1:50: upstreams.api.max_head: ${SIZE}, found "none"`],
  ])('are refused in an upstream: %s', async (keys, diagnostic) => {
    expect(await diagnosticsIn(upstreamWith(`url: "http://api", ${keys}`))).toEqual([diagnostic]);
  });

  it('are refused as the name of an upstream', async () => {
    const text = 'upstreams:\n  "a b": { url: "http://a" }\nroutes: []\n';
    expect(await diagnosticsIn(text)).toContain(
      '2:3: upstreams: "a b" is not a valid name: use 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit',
    );
  });

  it.each([
    [
      'authentication: require',
      '1:54: routes[0].authentication: expected "required", "optional" or "none", found "require", did you mean "required"?',
    ],
    [
      'authentication: none, close_at_expiry: maybe',
      '1:77: routes[0].close_at_expiry: expected true or false, found "maybe"',
    ],
    [
      'authentication: none, semicolons: yes',
      '1:72: routes[0].semicolons: expected "refuse" or "pass", found "yes"',
    ],
    [
      'authentication: none, min_body_rate: 240B',
      '1:75: routes[0].min_body_rate: expected off, or a rate such as 240B/s or 4KiB/s, found "240B"',
    ],
    [
      'authentication: none, min_body_rate: 0B/s',
      '1:75: routes[0].min_body_rate: expected off, or a rate such as 240B/s or 4KiB/s, found "0B/s"',
    ],
    [
      'authentication: none, max_body: 1MB',
      '1:70: routes[0].max_body: expected none or a size such as 512B, 64KiB or 10MiB, found "1MB"',
    ],
    [
      'authentication: none, methods: GET',
      '1:69: routes[0].methods: expected a list of methods such as [GET, POST], found "GET"',
    ],
    [
      'authentication: none, methods: []',
      '1:69: routes[0].methods: an empty list matches no request: leave out "methods" to match every method',
    ],
    ['authentication: none, methods: [GET, GET]', '1:75: routes[0].methods[1]: "GET" is listed twice'],
    [
      'authentication: none, methods: [GET, post]',
      '1:75: routes[0].methods[1]: methods are case-sensitive: write "POST"',
    ],
    [
      'authentication: none, methods: [GRPC]',
      '1:70: routes[0].methods[0]: gRPC calls have routes of their own: write "grpc" in place of "path"',
    ],
    [
      'authentication: none, methods: [1.5]',
      '1:70: routes[0].methods[0]: expected a method such as GET or POST, in upper case, found 1.5',
    ],
    ['authentication: none, methods: [PRI]', '1:70: routes[0].methods[0]: the gateway does not serve PRI'],
    [
      'authentication: none, methods: [BREW, POTS]',
      '1:76: warning: routes[0].methods[1]: "POTS" is not an HTTP method that gateways know, did you mean "POST"?',
    ],
    [
      'authentication: none, methods: [TRACE]',
      '1:70: routes[0].methods[0]: the gateway does not serve TRACE',
    ],
    [
      'authentication: none, timeouts: { first_byte: 1 }',
      `1:84: routes[0].timeouts.first_byte: ${TIME}, found 1`,
    ],
  ])('are refused in a route: %s', async (keys, diagnostic) => {
    expect(await diagnosticsIn(routeWith(`path: /**, upstream: api, ${keys}`))).toEqual([diagnostic]);
  });

  it('are refused as the path of a route, with the way out', async () => {
    expect(await diagnosticsIn(routeWith('path: v1/things, upstream: api, authentication: none'))).toEqual([
      '1:18: routes[0].path: a path starts with "/": write "/v1/things"',
    ]);
  });

  it('are shown in messages up to sixty characters', async () => {
    const [diagnostic] = await diagnosticsIn(`timeouts: { keep_alive: ${'9'.repeat(80)}s }\n${NEEDED}`);
    expect(diagnostic).toBe(`1:25: timeouts.keep_alive: ${TIME}, found "${'9'.repeat(60)}..."`);
  });
});

describe('variables', () => {
  it('stand for text', async () => {
    const text = `listen: { http: "127.0.0.1:\${PORT}" }\nlog: { level: "\${LEVEL}" }\n${NEEDED}`;
    expect(await diagnosticsIn(text, { PORT: '80', LEVEL: 'debug' })).toEqual([]);
  });

  it('that are not set are reported, and nothing that follows from it', async () => {
    const text = `routes:\n  - path: /**\n    upstream: "\${NAME}"\n    authentication: none\nupstreams: { api: { url: "http://\${HOST}" } }\n`;
    expect(await diagnosticsIn(text)).toEqual([
      '3:15: the environment variable NAME is not set',
      '5:26: the environment variable HOST is not set',
    ]);
  });

  it.each([
    [`upstreams: { api: { url: "\${V}" } }\nroutes: [{ path: /, upstream: api, authentication: none }]\n`],
    [`listen: { http: "\${V}" }\n${NEEDED}`],
    [`trusted_proxies: ["\${V}"]\n${NEEDED}`],
    [`log: { level: "\${V}" }\n${NEEDED}`],
    [`timeouts: { keep_alive: "\${V}" }\n${NEEDED}`],
    [`forwarding_headers: ["\${V}"]\n${NEEDED}`],
    [`forwarding_headers: { remove: ["\${V}"], keep: ["\${V}"] }\n${NEEDED}`],
    [routeWith(`path: "\${V}", upstream: api, authentication: none`)],
    [routeWith(`path: "/\${V}", upstream: api, authentication: none`)],
    [routeWith(`path: /, upstream: "\${V}", authentication: none`)],
    [routeWith(`path: /, upstream: api, authentication: none, methods: ["\${V}"]`)],
    [routeWith(`path: /, upstream: api, authentication: none, max_body: "\${V}"`)],
  ])('never show what they hold: %j', async text => {
    const diagnostics: string[] = [];
    for (const V of ['hunter2;{', 'https://hunter2', '10.0.0.0/99 hunter2', '10.0.0.0/99']) {
      diagnostics.push(...(await diagnosticsIn(text, { V })));
    }
    expect(diagnostics).not.toEqual([]);
    expect(diagnostics.join('\n')).not.toMatch(/hunter2|\/99/);
  });
});

describe('more limits than the room for counters allows', () => {
  const gatewayWith = (limitKeys: number) =>
    `${NEEDED}limits: limits.yaml\ncaps: { limit_keys: ${limitKeys} }\n`;
  /** With eight limits a bucket, beside the global one and that of preflights. */
  const limitsWith = (buckets: number) => {
    const quotas = (from: number) =>
      ['user', 'bot', 'address', 'resource'].map((key, i) => `${key}: 1/${from + i}s`).join(', ');
    const names = Array.from({ length: buckets }, (_, n) => `b${n}`);
    const bucket = `{ main: id, ${quotas(1)}, shadow: { ${quotas(11)} } }`;
    return [
      'buckets:',
      ...names.map(name => `  ${name}: ${bucket}`),
      'routes:',
      ...names.map(name => `  GET /${name}/{id}: ${name}`),
    ].join('\n');
  };
  const loaded = (buckets: number, limitKeys: number) =>
    loadFiles({ 'gateway.yaml': gatewayWith(limitKeys), 'limits.yaml': limitsWith(buckets) });

  it('are an error, which says how many there may be', async () => {
    expect((await loaded(511, 1_000)).ok).toBe(true);
    expect(diagnosticsOf(await loaded(512, 1_000))).toEqual([
      'limits.yaml: there are 4098 limits, and with room for 1000 counters there may be 4096: write fewer, or raise caps.limit_keys',
    ]);
    expect((await loaded(512, 1_000_000)).ok).toBe(true);
  });
});

describe('a file with many errors', () => {
  it('gets all of them reported at once, in the order of the lines', async () => {
    const text = `listen:
  htp: 0.0.0.0:8080
upstreams:
  api: { url: "http://a@api:3000", timeouts: { connect: 5 } }
  old: { url: "http://old:3000" }
routes:
  - path: /v1/**
    upstream: apj
    authentication: everyone
    methods: [get]
  - path: /v2/{id}
    upstream: api
    authentication: none
  - path: /V2/{other}/
    upstream: api
    authentication: none
caps: { fields: many }
`;
    expect(await diagnosticsIn(text)).toEqual([
      '2:3: listen: unknown key "htp", did you mean "http"?',
      '4:15: upstreams.api.url: the URL of an upstream cannot contain a user or password: remove everything up to the "@"',
      `4:57: upstreams.api.timeouts.connect: ${TIME}, found 5`,
      '8:15: routes[0].upstream: no upstream is named "apj", did you mean "api"?',
      '9:21: routes[0].authentication: expected "required", "optional" or "none", found "everyone"',
      '10:15: routes[0].methods[0]: methods are case-sensitive: write "GET"',
      '14:11: routes[2].path: this route matches the same requests as the one in line 11',
      '17:17: caps.fields: expected a whole number from 1 to 1000, found "many"',
    ]);
  });

  it('gets one report of an error that aliases repeat in many places', async () => {
    const text = `upstreams:
  a: &a { url: "http://a", timeouts: &t { conect: 1s } }
  b: *a
  c: { <<: *a, timeouts: *t }
routes:
  - { path: /a, upstream: a, authentication: none }
  - { path: /b, upstream: b, authentication: none }
  - { path: /c, upstream: c, authentication: none }
`;
    expect(await diagnosticsIn(text)).toEqual([
      '2:43: upstreams.a.timeouts: unknown key "conect", did you mean "connect"?',
    ]);
  });
});
