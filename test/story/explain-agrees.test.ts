import { expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { accessLines, startGatewayOf } from '../support/identity-gateway.ts';
import { Random } from '../support/random.ts';
import { head } from '../support/requests.ts';
import { runs, seedOfRun } from '../support/runs.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, type Response, startUpstream } from '../support/wire/index.ts';

const ROUTES = [
  { path: '/v1/channels/{channel_id}/messages', methods: ['GET', 'POST'] },
  { path: '/v1/channels/{channel_id}/messages', methods: ['DELETE'], semicolons: 'pass' },
  { path: '/v1/channels/{channel_id}/**', authentication: 'optional' },
  { path: '/v1/channels/mine', authentication: 'none' },
  { path: '/v1/{anything}', methods: ['PUT', 'OPTIONS'], authentication: 'optional' },
  { path: '/open/**', authentication: 'none', semicolons: 'pass' },
  { path: '/open/hooks/{id}/{token}', methods: ['POST'], authentication: 'none', webhook: true },
  { path: '/only/get', methods: ['GET'], authentication: 'none', cors: false },
  { path: '/exempt/{id}', authentication: 'optional', global_limit: 'exempt' },
  { path: '/v1/**', hosts: ['a.test', '*.b.test'], authentication: 'optional' },
  { path: '/v1/thing', hosts: ['x.b.test'], methods: ['GET'], authentication: 'none' },
  { path: '/hosted/**', hosts: ['*.b.test', '[::1]'], authentication: 'none' },
];

const LIMITS = {
  global: { bot: '60001/1s', user: '60002/1s', address: '60003/1s' },
  buckets: {
    messages: { main: 'channel_id', user: '50001/1s', bot: '50002/1s', resource: '60000/1s' },
    mine: { user: '50003/1s' },
    open: { address: '50004/1s', algorithm: 'smooth' },
    exempt: { main: 'id', bot: '50005/1s', scope: 'shared' },
    'sign-in': { address: '50006/1s' },
    rest: { user: '50007/1s' },
    hosted: { user: '50008/1s' },
    starred: { user: '50009/1s' },
  },
  routes: {
    'GET /v1/channels/{channel_id}/messages': 'messages',
    'POST /v1/channels/{channel_id}/messages': 'messages',
    'DELETE /v1/channels/{channel_id}/**': 'messages',
    '/v1/channels/mine': 'mine',
    '/open/**': 'open',
    'PUT /exempt/{id}': 'exempt',
    'GET /exempt/{id}': 'exempt',
    'POST /v1/anonymous/auth': 'sign-in',
    'POST /session/refresh': 'sign-in',
    'POST /session/end': 'mine',
    '/v1/{rest}': 'rest',
    'a.test/v1/{rest}': 'hosted',
    'GET *.b.test/v1/thing': 'starred',
    'x.b.test/hosted/{any}': 'hosted',
  },
};

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'CONNECT', 'M-SEARCH'];

const PATHS = [
  ...[
    '/v1/channels/7/messages',
    '/V1/Channels/7/MESSAGES/',
    '/v1/channels/7/messages/8',
    '/v1/channels/mine',
    '/v1/channels/Mine/',
  ],
  ...[
    '/v1/channels/%37/messages',
    '/v1/channels/%C3%A9/messages',
    '/v1/channels/%C3%28/messages',
    '/v1/channels/%FF/x',
    '/v1/channels/%C0%AF/x',
  ],
  ...[
    '/v1/channels/7;x/messages',
    '/v1/channels/7%3Bx/messages',
    '/open/a;b',
    '/open/a%3bb',
    '/open',
    '/open/',
    '/open/hooks/1/2',
    '/open/hooks/1',
  ],
  ...[
    '/v1/thing',
    '/v1/thing?a=b',
    '/v1/thing?',
    '/v1/',
    '/v1',
    '/',
    '/nothing',
    '/nothing;x',
    '/only/get',
    '/only/GET',
    '/only/get/',
  ],
  ...[
    '/exempt/1',
    '/exempt/%ff',
    '/exempt/%E2%84%AA',
    '/v1/anonymous/auth',
    '/v1/anonymous/auth/',
    '/session/refresh',
    '/session/end',
    '/Session/refresh/',
    '/V1/Anonymous/auth',
    '/v1/anonymous/authorize-url',
  ],
  ...[
    '/v1/anonymous/authorize-url?redirect_uri=x',
    '/v1/anonymous/other',
    '/v1/anonymous',
    '/v1/anonymous/auth%20',
    '/v1/anonymous/auth;x',
  ],
  ...[
    '/a//b',
    '/./a',
    '/a/..',
    '/a/%2e%2e',
    '/%2F',
    '/a%2fb',
    '/a%5Cb',
    '/a\\b',
    '/a%00',
    '/%zz',
    '/%',
    '/caf\u00e9',
    '/a?b#c',
    '/a?b%zz',
    '/a#b',
  ],
  ...[
    '*',
    'v1/thing',
    'http://gateway.test/v1/thing',
    'HTTP://GATEWAY.test/open',
    'http://gateway.test',
    'http://gateway.test?a',
    'ftp://gateway.test/',
    'http://u@gateway.test/',
  ],
  ...[
    'a.test',
    'A.test:80',
    'a.test.',
    'x.b.test',
    'y.b.test.:8443',
    'z.y.b.test',
    '[::1]:80',
    'c.test',
  ].flatMap(host =>
    ['/v1/thing', '/hosted/x', '/v1/channels/mine', '/v1/anonymous/auth', '/open'].map(
      path => `https://${host}${path}`,
    ),
  ),
  ...['a..test', '.a.test', 'a.test..', 'a.test:80:80', 'a%2etest'].map(host => `http://${host}/v1/thing`),
  `/open/${'a'.repeat(8_000)}`,
  `/open/${'a'.repeat(20_000)}`,
];

type Facts = ReadonlyMap<string, readonly string[]>;

/** What `weir explain` says, by label, and its exit code. */
async function explain(file: string, method: string, path: string, as: string) {
  const out: string[] = [];
  const err: string[] = [];
  const terminal = {
    env: process.env,
    out: (text: string) => out.push(text),
    err: (text: string) => err.push(text),
  };
  const code = await runCommandLine(['explain', method, path, file, '--as', as], terminal);
  expect(err).toEqual([]);
  const facts = new Map<string, string[]>();
  let label = '';
  for (const line of out.join('').split('\n').slice(2, -1)) {
    const [, own = '', text = ''] = /^ {2}(\S+(?: \S+)*)? {2,}(.*)$/.exec(line) ?? [];
    if (own !== '') label = own;
    facts.set(label, [...(facts.get(label) ?? []), text]);
  }
  return { code, facts };
}

/** What is expected of the gateway by that. */
function expected({ code, facts }: { code: number; facts: Facts }, as: string) {
  const first = (label: string) => facts.get(label)?.[0];
  const refused = first('refused');
  const route = first('route')?.replace(/ \(.*\)$/, '') ?? null;
  const served = first('served by') !== undefined;
  const needsToken = first('authentication')?.startsWith('required') === true && as === 'address';
  const bucket = first('bucket')?.replace(/ \(.*\)$/, '') ?? 'none';
  const isLimited = refused === undefined && !needsToken && !bucket.startsWith('none');
  const limits = isLimited ? (facts.get(`as ${NAMES[as]}`) ?? facts.get('as an address') ?? []) : [];
  const own = limits.map(text => /^bucket: (\d+) in /.exec(text)?.[1]).find(units => units !== undefined);
  return {
    code,
    status:
      refused === undefined ? (needsToken ? 401 : served ? 'its own' : 200) : Number(refused.slice(0, 3)),
    route,
    hash: isLimited && (own !== undefined || facts.has('all together')) ? first('bucket hash') : undefined,
    limit: isLimited ? (own ?? /bucket: (\d+)/.exec(first('all together') ?? '')?.[1]) : undefined,
  };
}

const NAMES: Readonly<Record<string, string>> = { bot: 'a bot', user: 'a user', address: 'an address' };

function seen(response: Response, line: Readonly<Record<string, unknown>> | undefined, served: boolean) {
  const { status } = response;
  return {
    code: status === 200 || status === 401 || served ? 0 : 1,
    status: served ? 'its own' : status,
    route: line?.['route'] ?? null,
    hash: header(response, 'x-ratelimit-bucket'),
    limit: header(response, 'x-ratelimit-limit'),
  };
}

/** Of a hundred pairs of a path and a method, so many are asked about. */
const PERCENT = Math.min(100, runs(50, 3));

/** Asks both about paths by methods, and returns where they differ. */
async function differences(gateway: LocalGateway, bearers: Readonly<Record<string, readonly string[]>>) {
  const random = new Random(seedOfRun());
  const found: unknown[] = [];
  for (const path of PATHS) {
    for (const method of METHODS.filter(() => random.chance(PERCENT / 100))) {
      const as = random.pick(Object.keys(bearers));
      const said = expected(await explain(gateway.configFile, method, path, as), as);
      const before = gateway.logLines.length;
      const [, host = 'gateway.test'] = /^https?:\/\/([^/?]+)/i.exec(path) ?? [];
      const request = head(`${method} ${path}`, ...(bearers[as] ?? []), 'Content-Length: 0').replace(
        'Host: gateway.test',
        `Host: ${host}`,
      );
      const response = await gateway.ask(request, { to: method });
      const line = accessLines({ logLines: gateway.logLines.slice(before) })[0];
      const does = seen(response, line, said.status === 'its own' && response.status !== 404);
      if (JSON.stringify(said) !== JSON.stringify(does)) found.push({ method, path, as, said, does });
    }
  }
  return found;
}

it('weir explain says of requests what a gateway with tokens, limits and CORS does with it', async () => {
  const issuer = await startIssuer();
  const routes = ROUTES.map(route => ({ upstream: 'api', ...route }));
  const { gateway } = await startGatewayOf(issuer, {
    limits: LIMITS,
    config: {
      routes,
      cors: { origins: 'any' },
      sign_in: { refresh: '/session/refresh', sign_out: '/session/end' },
    },
  });
  const bearers = { bot: [issuer.bearer({ client_id: 'bot' })], user: [issuer.bearer()], address: [] };
  expect(await differences(gateway, bearers)).toEqual([]);
});

it('weir explain says of requests what a gateway without a provider does with it', async () => {
  const upstream = await startUpstream();
  const routes = ROUTES.map(route => ({ ...route, upstream: 'api', authentication: 'none' }));
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { routes, log: { level: 'info', access: true } },
  });
  expect(await differences(gateway, { bot: [], user: [], address: [] })).toEqual([]);
});
