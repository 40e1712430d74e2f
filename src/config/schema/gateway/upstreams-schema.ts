import { z } from 'zod';
import { isMap, type RawMap } from '../../file/index.ts';
import { upstreamSettingKeys } from '../../policies/index.ts';
import { choice, count, mapExpected, name, protocolKeysIn, shown, upstreamUrl } from '../../values/index.ts';
import { upstreamTlsSchema } from './listen-schema.ts';

const URL_EXPECTED =
  'expected a URL such as http://api.internal:3000, or a map such as { url: "http://api.internal:3000", weight: 2 }';
const URLS_EXPECTED =
  'expected a list of addresses such as ["http://10.0.0.1:3000", { url: "http://10.0.0.2:3000", weight: 2 }]';

/** An address with its weight: 1 if none is written. */
function weightedUrl() {
  const map = z.strictObject({
    url: upstreamUrl().describe('The address, as in url of the upstream.'),
    weight: count(1_000)
      .prefault(1)
      .describe('Its share of the requests, relative to the weights of the others.'),
  });
  return z.union([upstreamUrl().transform(url => ({ url, weight: 1 })), map], { error: URL_EXPECTED });
}

/** The keys of an upstream. The checks use some of them one by one. */
export const upstreamKeys = {
  url: upstreamUrl()
    .optional()
    .describe(
      'The address of the service: http://host:port, or https://host:port for TLS. Each address of a name gets requests. srv+http://name and srv+https://name: hosts and ports from the SRV records of the name. A path after the port, as in http://host:port/base, goes before every path that is sent there.',
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
  protocol: choice(['http1', 'h2', 'grpc'])
    .prefault('http1')
    .describe(
      'What it speaks: HTTP/1.1, HTTP/2 (over https:// agreed by ALPN, else by prior knowledge), or gRPC, which HTTP/2 carries.',
    ),
  ...upstreamSettingKeys,
};
const upstream = shown(
  z
    .strictObject(upstreamKeys, mapExpected('{ url: "http://api.internal:3000" }'))
    .meta({ oneOf: [holding('url'), holding('urls')] }),
);

function holding(key: keyof typeof upstreamKeys) {
  return { type: 'object', properties: { [key]: {} }, required: [key] };
}

/** `upstreams` of gateway.yaml. */
export const upstreamsSchema = z
  .record(name(), upstream, mapExpected('{ api: { url: "http://api.internal:3000" } }'))
  .describe('The services behind the gateway, by name.');

export type UpstreamConfig = z.output<typeof upstream>;

/** The keys that apply only to some protocols. */
export const PROTOCOL_KEYS = protocolKeysIn(upstreamKeys);

/** Returns the addresses under `url` or `urls`. The checks ensure that exactly one of the keys is present. */
export function listedUrls({ url, urls }: UpstreamConfig): NonNullable<UpstreamConfig['urls']> {
  return urls ?? (url === undefined ? [] : [{ url, weight: 1 }]);
}

/** The URL written first, valid or not: its scheme and path apply to all. */
export function firstWrittenUrl({ url, urls }: RawMap): unknown {
  const first: unknown = Array.isArray(urls) ? urls[0] : url;
  return isMap(first) ? first.url : first;
}
