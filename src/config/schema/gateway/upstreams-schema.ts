import { z } from 'zod';
import { upstreamSettingKeys } from '../../policies/index.ts';
import { choice, mapSuchAs, name, protocolKeysIn, shown, upstreamUrl } from '../../values/index.ts';
import { upstreamTlsSchema } from './listen-schema.ts';

const upstreamKeys = {
  url: upstreamUrl().describe(
    'The address of the service: http://host:port, or https://host:port for TLS. The name is resolved at each connect.',
  ),
  tls: upstreamTlsSchema.prefault({}),
  protocol: choice(['http1', 'h2', 'grpc'])
    .prefault('http1')
    .describe(
      'What it speaks: HTTP/1.1, HTTP/2 (over https:// agreed by ALPN, else by prior knowledge), or gRPC, which HTTP/2 carries.',
    ),
  ...upstreamSettingKeys,
};
const upstream = shown(z.strictObject(upstreamKeys, mapSuchAs('{ url: "http://api.internal:3000" }')));

/** `upstreams` of gateway.yaml. */
export const upstreamsSchema = z
  .record(name(), upstream, mapSuchAs('{ api: { url: "http://api.internal:3000" } }'))
  .describe('The services behind the gateway, by name.');

export type UpstreamConfig = z.output<typeof upstream>;

/** The keys that only some protocols have a use for. */
export const PROTOCOL_KEYS = protocolKeysIn(upstreamKeys);
