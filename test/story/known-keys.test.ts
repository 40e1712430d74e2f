import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { jsonSchemaOf } from '../../src/config/index.ts';
import { explain } from '../../src/explain/index.ts';
import { changesInWords, diagnosticsIn, loadFiles } from '../support/config-text.ts';

interface Known {
  /** A part of gateway.yaml without the key, and with it. */
  readonly without: string;
  readonly with: string;
  /** With a value that the check refuses, and a part of what it says. */
  readonly wrong: string;
  readonly says: string;
  /** What `weir explain` says of it, and `weir diff`. */
  readonly explained: string;
  readonly changed: string;
}

const upstream = (keys = '', url = 'url: "http://api:3000"') => `upstreams: { api: { ${url}${keys} } }\n`;
const routes = (keys = '', path = '/a/**', to = 'upstream: api, authentication: none') =>
  `routes: [{ path: "${path}", ${to}${keys} }]\n`;
const TWO = 'urls: ["http://a", "http://b"]';
const PROVIDER = 'identity_provider: { issuer: "https://id.test" }\naccess_tokens: { audience: api }\n';

const ofRoute = (
  key: string,
  wrong: string,
  says: string,
  explained: string,
  changed: string,
  path = '/a/**',
) => ({
  ...{ without: upstream() + routes('', path), with: upstream() + routes(`, ${key}`, path) },
  ...{ wrong: upstream() + routes(`, ${wrong}`, path), says, explained, changed },
});
const ofUpstream = (key: string, wrong: string, says: string, explained: string) => ({
  ...{ without: upstream() + routes(), with: upstream(`, ${key}`) + routes() },
  ...{ wrong: upstream(`, ${wrong}`) + routes(), says, explained, changed: key },
});
const ofFile = (
  key: string,
  wrong: string,
  says: string,
  explained: string,
  changed: string,
  before = '',
) => ({
  ...{ without: before + upstream() + routes(), with: `${key}\n${upstream()}${routes()}` },
  ...{ wrong: `${wrong}\n${upstream()}${routes()}`, says, explained, changed },
});

/** What services need that are not as others, by key. */
const KEYS: Readonly<Record<string, Known>> = {
  send: ofFile(
    'forwarding_headers: { send: [X-Real-IP] }',
    'forwarding_headers: { send: [X-Real] }',
    'forwarding_headers.send[0]',
    'also X-Real-IP',
    'forwarding_headers.send: [X-Real-IP]',
  ),
  encoded_slashes: ofRoute(
    'encoded_slashes: pass',
    'encoded_slashes: yes',
    'routes[0].encoded_slashes',
    'encoded slashes',
    'refuses encoded slashes',
  ),
  empty_segments: ofRoute(
    'empty_segments: merge',
    'empty_segments: drop',
    'routes[0].empty_segments',
    'sent with single slashes',
    'refuses empty segments',
  ),
  trailing_slash: ofRoute(
    'trailing_slash: redirect',
    'trailing_slash: strip',
    'routes[0].trailing_slash',
    'get 308 to the other path',
    'trailing_slash redirect',
    '/a/x',
  ),
  '{path}': {
    without: `${upstream()}routes: [{ path: /a/**, redirect: { to: "https://b.test/" } }]\n`,
    with: `${upstream()}routes: [{ path: /a/**, redirect: { to: "https://b.test{path}" } }]\n`,
    wrong: `${upstream()}routes: [{ path: /a/**, redirect: { to: "https://b.test/x{path}" } }]\n`,
    ...{ says: 'routes[0].redirect.to', explained: 'https://b.test{path}', changed: 'https://b.test{path}' },
  },
  defaults: ofFile(
    'defaults: { max_body: 1MiB }',
    'defaults: { path: /a }',
    'defaults: unknown key "path"',
    'at most 1MiB',
    'max_body 1MiB',
  ),
  networks: ofRoute(
    'networks: { allow: [192.0.2.0/24] }',
    'networks: {}',
    'routes[0].networks',
    'of 192.0.2.0/24',
    'takes clients of 192.0.2.0/24',
  ),
  error_pages: ofFile(
    'error_pages: errors',
    'error_pages: nowhere',
    'error_pages: there is no page',
    'the pages 404',
    'error_pages',
  ),
  except: {
    without: '',
    with: '',
    wrong: `listen: { redirect: { address: "127.0.0.1:80", except: [health] } }\n${upstream()}${routes()}`,
    ...{ says: 'listen.redirect.except[0]', explained: '', changed: '' },
  },
  cookie: {
    without: upstream('', TWO) + routes(),
    with: upstream(', balance: { cookie: node }', TWO) + routes(),
    wrong: upstream(', balance: { cookie: "a b" }', TWO) + routes(),
    ...{
      says: 'upstreams.api.balance',
      explained: 'balance by the cookie node',
      changed: 'upstreams.api.balance',
    },
  },
  'unix:': {
    without: upstream() + routes(),
    with: upstream('', 'url: unix:/run/app.sock') + routes(),
    wrong: upstream('', 'url: unix:app.sock') + routes(),
    ...{ says: 'upstreams.api.url', explained: 'unix:/run/app.sock', changed: 'unix:/run/app.sock' },
  },
  backup: {
    without: upstream('', TWO) + routes(),
    with: upstream('', 'urls: ["http://a", { url: "http://b", backup: true }]') + routes(),
    wrong: upstream('', 'urls: [{ url: "http://b", backup: true }]') + routes(),
    ...{ says: 'upstreams.api.urls', explained: '(backup)', changed: 'backup: true' },
  },
  keep_alive: ofUpstream(
    'keep_alive: off',
    'keep_alive: never',
    'upstreams.api.keep_alive',
    'one for each request',
  ),
  replay: ofUpstream('replay: 64KiB', 'replay: 65KiB', 'upstreams.api.replay', 'with a body of up to 64KiB'),
  buffer_body: ofUpstream(
    'buffer_body: 1MiB',
    'buffer_body: true',
    'upstreams.api.buffer_body',
    'read whole up to 1MiB',
  ),
  lenient: ofUpstream('lenient: true', 'lenient: often', 'upstreams.api.lenient', 'read leniently'),
  expect: ofRoute('expect: pass', 'expect: ask', 'routes[0].expect', 'the service says 100', 'expect pass'),
  rate_limit_headers: ofRoute(
    'rate_limit_headers: service',
    'rate_limit_headers: both',
    'routes[0].rate_limit_headers',
    "the service's own",
    'rate_limit_headers service',
  ),
  token_from: {
    without: PROVIDER + upstream() + routes('', '/a/**', 'upstream: api'),
    with: PROVIDER + upstream() + routes(', token_from: [{ query: token }]', '/a/**', 'upstream: api'),
    wrong: PROVIDER + upstream() + routes(', token_from: [{ body: token }]', '/a/**', 'upstream: api'),
    ...{
      says: 'routes[0].token_from[0]',
      explained: 'also query token',
      changed: 'reads tokens from query token',
    },
  },
  paths: ofFile(
    'log: { paths: plain }',
    'log: { paths: raw }',
    'log.paths',
    'with the path as it is',
    'log.paths: plain',
  ),
  expose_headers: ofFile(
    'cors: { origins: ["https://a.test"], expose_headers: [X-Total] }',
    'cors: { origins: ["https://a.test"], expose_headers: X-Total }',
    'cors.expose_headers',
    'may also read X-Total',
    'cors.expose_headers: [X-Total]',
    'cors: { origins: ["https://a.test"] }\n',
  ),
};

async function snapshotOf(text: string) {
  const loaded = await loadFiles({ 'gateway.yaml': text, 'errors/404.html': 'x' });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return loaded.snapshot;
}

const rowsOf = async (text: string) => {
  const caller = { as: null, address: '192.0.2.1', principal: null };
  const { rows } = explain({ method: 'GET', target: '/a/x', caller }, await snapshotOf(text));
  return rows.map(row => row.join(': ')).join('\n');
};

describe.each(Object.entries(KEYS))('%s', (name, known) => {
  it('is checked', async () => {
    expect((await diagnosticsIn(known.wrong)).join('\n')).toContain(known.says);
  });

  it('is in the schema, in that of the chart, and in docs/migrating.md', async () => {
    const documents = [
      JSON.stringify(jsonSchemaOf('gateway')),
      await readFile('helm/weir/values.schema.json', 'utf8'),
      await readFile('docs/migrating.md', 'utf8'),
    ];
    for (const text of documents) expect(text.includes(name)).toBe(true);
  });
});

/** `listen.redirect` is another listener than the one whose requests are explained. */
const explained = Object.entries(KEYS).filter(([, known]) => known.with !== '');

it.each(explained)(
  '%s is explained and compared, and costs no word where it is not written',
  async (_, known) => {
    expect(await rowsOf(known.with)).toContain(known.explained);
    expect(await rowsOf(known.without)).not.toContain(known.explained);
    const [now, before] = [await snapshotOf(known.with), await snapshotOf(known.without)];
    expect(changesInWords(now.outline, before.outline).join('\n')).toContain(known.changed);
  },
);
