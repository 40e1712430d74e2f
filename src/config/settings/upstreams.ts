import { z } from 'zod';
import { authorityAt, type Clock, digestOf, reuse, socketPath } from '../../core/index.ts';
import { serviceHost, type UpstreamTls } from '../../upstream/index.ts';
import { asList, asMap, type ConfigFile, isMap, type RawMap, Section } from '../file/index.ts';
import type { KeptModels } from '../kept-parts.ts';
import {
  compileUpstreamSettings,
  type UpstreamModel,
  upstreamSettingKeys,
  upstreamsNamed,
} from '../policies/index.ts';
import {
  choice,
  count,
  mapExpected,
  mapOf,
  name,
  oneKeyOf,
  parseHostPort,
  protocolKeysIn,
  upstreamUrl,
  yesOrNo,
} from '../values/index.ts';
import { CAP_COSTS, fillIn } from './memory.ts';
import { clientTlsKeys, readKeyFile, SecretFiles, type TlsFiles } from './secret-files.ts';
import { setting } from './setting.ts';

const URL_EXPECTED =
  'expected a URL such as http://api.internal:3000, or a map such as { url: "http://api.internal:3000", weight: 2 }';
const URLS_EXPECTED =
  'expected a list of addresses such as ["http://10.0.0.1:3000", { url: "http://10.0.0.2:3000", weight: 2 }]';

/** An address with its weight: 1 if none is written. */
function weightedUrl() {
  const map = z.strictObject({
    url: upstreamUrl().describe('The address, as in url of the upstream.'),
    weight: count(1_000, 1).describe('Its share of the requests, relative to the weights of the others.'),
    backup: yesOrNo(false).describe('Whether it gets requests only where no other address is healthy.'),
  });
  return z.union([upstreamUrl().transform(url => ({ url, weight: 1, backup: false })), map], {
    error: URL_EXPECTED,
  });
}

const SERVER_NAME_EXPECTED = 'expected the name of a host such as api.internal';

const upstreamTlsSchema = z
  .strictObject({
    ...clientTlsKeys('a service'),
    server_name: z
      .string({ error: SERVER_NAME_EXPECTED })
      .regex(/^(?![\d.]+$)[A-Za-z0-9._-]{1,253}$/, { error: SERVER_NAME_EXPECTED, abort: true })
      .refine(name => parseHostPort(name, 443) !== undefined, { error: SERVER_NAME_EXPECTED })
      .optional()
      .describe(
        "The server name: sent as SNI, and required in the service's certificate. Left out: the host of the url.",
      ),
    verify: yesOrNo(true).describe(
      'false: any certificate is accepted, so anyone on the network path can read and change everything.',
    ),
  })
  .describe(
    'TLS settings for https://. Files are PEM, relative to this file, and read again when they change.',
  );

/** The keys of an upstream. The checks use some of them one by one. */
export const upstreamKeys = {
  url: upstreamUrl()
    .optional()
    .describe(
      'The address of the service: http://host:port, or https://host:port for TLS. Each address of a name gets requests. srv+http://name and srv+https://name: hosts and ports from the SRV records of the name. unix:/run/app.sock: a Unix socket. A path after the port, as in http://host:port/base, goes before every path that is sent there.',
    ),
  urls: z
    .array(weightedUrl(), { error: URLS_EXPECTED })
    .min(1, { error: URLS_EXPECTED })
    .max(256, { error: 'expected at most 256 addresses' })
    .optional()
    .describe(
      'Several addresses of the service in place of url, all with the same scheme and path. Requests are spread over them; one that fails is left out for a while.',
    ),
  tls: upstreamTlsSchema.prefault({}),
  protocol: choice(['http1', 'h2', 'grpc']).describe(
    'What it speaks: HTTP/1.1, HTTP/2 (over https:// agreed by ALPN, else by prior knowledge), or gRPC, which HTTP/2 carries.',
  ),
  ...upstreamSettingKeys,
};
const upstream = mapOf('{ url: "http://api.internal:3000" }', upstreamKeys).meta(oneKeyOf('url', 'urls'));

export const upstreams = setting({
  keys: {
    upstreams: z
      .record(name(), upstream, mapExpected('{ api: { url: "http://api.internal:3000" } }'))
      .describe('The services behind the gateway, by name.'),
  },
  fill(written, { part }) {
    const toUpstream = Math.min(MAX_TO_UPSTREAM, Math.ceil(part(CAP_COSTS.requests.most) / 2));
    const ofWebSockets = part(CAP_COSTS.webSockets.most, Math.max(1, countWithWebSockets(written)));
    for (const upstream of Object.values(asMap(written.upstreams))) {
      const { protocol = 'http1' } = asMap(upstream);
      if (protocol === 'grpc') fillIn(upstream, { max_grpc_calls: toUpstream });
      else fillIn(upstream, { max_requests: toUpstream });
      if (protocol === 'http1') fillIn(upstream, { max_websockets: ofWebSockets });
    }
  },
  check({ store }, file) {
    for (const [, upstream] of upstreamsIn(file)) {
      checkUrls(upstream);
      checkHealth(upstream);
      checkProtocol(upstream);
      if (asMap(store).redis !== undefined) checkCookieKey(upstream);
    }
  },
  read: async (file, clock) => ({
    upstreamTls: await readTls(file, clock),
    balanceKeys: await readBalanceKeys(file),
  }),
  withoutSecrets: () => ({ upstreamTls: new Map(), balanceKeys: new Map() }),
  compile({ upstreams }, { common, before }, secrets): UpstreamsPart {
    const keptUpstreams = reuse(before?.keptUpstreams, common, () => compileUpstreams(upstreams, secrets));
    return { keptUpstreams, upstreams: [...keptUpstreams.part.values()] };
  },
});

interface UpstreamsPart extends Pick<KeptModels, 'keptUpstreams'> {
  readonly upstreams: readonly UpstreamModel[];
}

interface UpstreamSecrets {
  readonly upstreamTls: ReadonlyMap<string, TlsFiles>;
  readonly balanceKeys: ReadonlyMap<string, string>;
}

/** The upstreams as written, by their names. */
export function upstreamsIn(file: ConfigFile): [name: string, upstream: Section][] {
  const written = Object.entries(asMap(asMap(file.value).upstreams));
  return written.map(([name, upstream]) => [name, new Section(file, ['upstreams', name], upstream)]);
}

/** Compiles the upstreams, by their names. */
function compileUpstreams(
  configs: Readonly<Record<string, UpstreamConfig>>,
  secrets: UpstreamSecrets,
): ReadonlyMap<string, UpstreamModel> {
  const compiled = Object.entries(configs).map(
    ([name, config]) => [name, compileUpstream(name, config, secrets)] as const,
  );
  return new Map(compiled);
}

type UpstreamConfig = z.output<typeof upstream>;

/** Default maximum of requests or calls in flight to an upstream. */
const MAX_TO_UPSTREAM = 1_024;

function countWithWebSockets({ routes }: RawMap): number {
  const serving = asList(routes)
    .map(asMap)
    .filter(({ websocket }) => String(websocket) === 'true');
  return new Set(serving.flatMap(route => upstreamsNamed(route, []).map(({ name }) => name))).size;
}

/** The URL written first, valid or not: its scheme and path apply to all. */
export function firstWrittenUrl({ url, urls }: RawMap): unknown {
  const first: unknown = Array.isArray(urls) ? urls[0] : url;
  return isMap(first) ? first.url : first;
}

/** Reports an upstream without an address, or with addresses that cannot be combined. */
function checkUrls(upstream: Section): void {
  const { url, urls } = upstream.raw;
  // A misspelt key, which validation reports, may be the address.
  const hasKnownKeys = Object.keys(upstream.raw).every(key => Object.hasOwn(upstreamKeys, key));
  if (url !== undefined && urls !== undefined)
    upstream.addKey('url', 'an upstream has "url" or "urls", not both: move the address into "urls"');
  else if (Array.isArray(urls)) checkList(upstream, urls);
  else if (
    url === undefined &&
    urls === undefined &&
    hasKnownKeys &&
    isMap(upstream.file.valueAt(upstream.path))
  )
    upstream.add([], 'missing key "url": expected a URL such as http://api.internal:3000');
}

/** Checks that all addresses have the same scheme and path, since any of them may get any request. */
function checkList(upstream: Section, urls: readonly unknown[]): void {
  const { file } = upstream;
  if (urls.length > 0 && urls.every(entry => asMap(entry).backup === true))
    upstream.add('urls', 'all addresses are backups: take "backup" from those that serve as a rule');
  const listed = urls.map(entry => {
    // Validation reports an invalid one.
    const { data: url } = upstreamKeys.url.safeParse(isMap(entry) ? entry.url : entry);
    return url === undefined
      ? null
      : { ...url, place: `${url.lookup} ${canonicalPlace(url.host)} ${url.port}` };
  });
  const lineOf = (index: number) => upstream.lineOf(['urls', index]);
  const baseAt = (index: number) => {
    const hidden = [[index], [index, 'url']].some(at => file.holdsVariable(upstream.at(['urls', ...at])));
    return hidden ? 'another' : listed[index]?.base || 'none';
  };
  const first = listed.findIndex(url => url !== null);
  const scheme = schemeOf(listed[first]?.tls);
  for (const [index, url] of listed.entries()) {
    if (url === null) continue;
    const twin = listed.findIndex(other => other?.place === url.place);
    const add = (message: string) => upstream.add(['urls', index], message);
    const differs = (what: string, own: string, others: string) =>
      add(
        `all addresses of an upstream have one ${what}: this one has ${own}, the one in line ${lineOf(first)} has ${others}`,
      );
    if (schemeOf(url.tls) !== scheme) differs('scheme', schemeOf(url.tls), scheme);
    else if (url.base !== listed[first]?.base) differs('path', baseAt(index), baseAt(first));
    else if (twin < index)
      add(`this address is already in line ${lineOf(twin)}: give it a "weight" there instead`);
  }
}

function canonicalPlace(host: string): string {
  return socketPath(host) === null ? host.toLowerCase() : host;
}

function schemeOf(isTls: boolean | undefined): string {
  return isTls === true ? 'https' : 'http';
}

/** Reports health checks without a path, and those that would overlap. */
function checkHealth(upstream: Section): void {
  const { health, protocol } = upstream.raw;
  if (!isMap(health)) return;
  // A gRPC check needs no name: without one it asks about the whole server.
  if (health.path === undefined && protocol !== 'grpc')
    upstream.add('health', 'missing key "path": expected a path such as /healthz');
  // Validation reports invalid values.
  const { data } = upstreamKeys.health.safeParse(health);
  if (data === undefined || data.timeout < data.every) return;
  const message = `a check has to end before the next begins: "timeout" (${data.timeout / 1_000}s) must be less than "every" (${data.every / 1_000}s)`;
  upstream.add(['health', 'timeout' in health ? 'timeout' : 'every'], message);
}

const PROTOCOL_KEYS = protocolKeysIn(upstreamKeys);

function checkProtocol(upstream: Section): void {
  const { protocol = 'http1' } = upstream.raw;
  // Validation reports other values.
  if (protocol !== 'http1' && protocol !== 'h2' && protocol !== 'grpc') return;
  for (const { path, protocols } of PROTOCOL_KEYS) {
    if (protocols.includes(protocol) || !isSet(upstream.raw, path)) continue;
    const message = `"${path.at(-1)}" is for upstreams with protocol ${protocols.join(' or ')}: this one speaks ${protocol}`;
    upstream.addKey(path, message);
  }
}

/** Whether an upstream has a value at this path. An empty map counts as none. */
function isSet(upstream: unknown, path: readonly string[]): boolean {
  let value: unknown = upstream;
  for (const key of path) value = asMap(value)[key];
  return isMap(value) ? Object.keys(value).length > 0 : value !== undefined;
}

/** Reads the files that upstreams name under `tls`, and checks them against the scheme of the URL. */
async function readTls(file: ConfigFile, clock: Clock): Promise<ReadonlyMap<string, TlsFiles>> {
  const upstreams = new Map<string, TlsFiles>();
  for (const [name, upstream] of upstreamsIn(file)) {
    if (upstream.raw.tls === undefined) continue;
    upstreams.set(name, await new SecretFiles(upstream, clock).tls());
    checkTlsUse(upstream);
  }
  return upstreams;
}

function checkTlsUse(upstream: Section): void {
  const { raw } = upstream;
  const tls = asMap(raw.tls);
  const url = firstWrittenUrl(raw);
  if (typeof url === 'string' && /^(http|unix):/.test(url) && Object.keys(tls).length > 0) {
    upstream.addUseless('tls', 'without TLS: write https://');
  } else if (tls.verify === false) {
    const message = 'anyone between the gateway and this service can read and change everything';
    upstream.warn(['tls', 'verify'], message);
  }
}

/** Warns where several gateways, each with a key of its own, would not know the cookies of each other. */
function checkCookieKey(upstream: Section): void {
  const { cookie, key_file } = asMap(upstream.raw.balance);
  if (cookie === undefined || key_file !== undefined) return;
  const message =
    'each of the gateways at this Redis makes cookies that the others do not know, so clients change their address: add a "key_file", the same for all';
  upstream.warn('balance', message);
}

async function readBalanceKeys(file: ConfigFile): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  for (const [name, upstream] of upstreamsIn(file)) {
    if (!isMap(upstream.raw.balance)) continue;
    const key = await readKeyFile(file, upstream.at(['balance', 'key_file']), 'key');
    if (key !== null) keys.set(name, key);
  }
  return keys;
}

function compileUpstream(name: string, config: UpstreamConfig, secrets: UpstreamSecrets): UpstreamModel {
  // The checks ensure that exactly one of the keys is present.
  const listed =
    config.urls ?? (config.url === undefined ? [] : [{ url: config.url, weight: 1, backup: false }]);
  const [authority = '', ...others] = listed.map(({ url }) => authorityOf(url));
  const hasOthers = others.some(other => other !== authority);
  const isTls = listed.some(({ url }) => url.tls);
  const { protocol } = config;
  const settings = compileUpstreamSettings(config, {
    name,
    authority,
    hasOthers,
    protocol,
    balanceKey: secrets.balanceKeys.get(name) ?? null,
  });
  const files = secrets.upstreamTls.get(name);
  const live = {
    endpoints: listed.map(({ url: { host, port, lookup }, weight, backup }) => ({
      host,
      port,
      weight,
      lookup,
      ...(backup && { backup }),
    })),
    options: { ...settings.options, protocol, tls: isTls ? compileUpstreamTls(config.tls, files) : null },
    balance: settings.balance,
    health: settings.health && { ...settings.health, host: settings.hostHeader ?? authority },
  };
  const revision = digestOf(JSON.stringify(live));
  return { ...settings, ...live, name, protocol, base: listed[0]?.url.base ?? '', revision };
}

/** Omits the dot of the root, as for hosts of clients. For an SRV name, it is the host after the service and protocol labels. */
function authorityOf(url: NonNullable<UpstreamConfig['url']>): string {
  const host = url.host.replace(/\.$/, '');
  if (url.lookup === 'srv') return serviceHost(host);
  return authorityAt({ ...url, host }, url.tls);
}

function compileUpstreamTls(
  { server_name, verify }: UpstreamConfig['tls'],
  files: TlsFiles | undefined,
): UpstreamTls {
  return {
    serverName: server_name ?? null,
    ca: files?.ca ?? null,
    certificate: files?.certificate ?? null,
    key: files?.key ?? null,
    verify,
  };
}
