import { z } from 'zod';

import { formatHostPort, type HostPort } from '../../host-port.ts';
import { count, mapSuchAs, pathOfFile, yesOrNo } from '../plain-values.ts';
import { HOST_PORT_EXPECTED, HOST_PORT_OR_OFF_EXPECTED, hostPort, hostPortOrOff } from '../scalars/index.ts';
import { adminTlsSchema, listenerTlsSchema } from './tls-schema.ts';

const addressKeys = {
  address: hostPort().describe('Where it listens: host:port. Port 0 takes a free one, which is logged.'),
};

const grpcKeys = {
  ...addressKeys,
  tls: listenerTlsSchema.optional(),
  proxy_protocol: yesOrNo()
    .prefault(false)
    .describe(
      'Whether every connection begins with a header of the PROXY protocol, version 1 or 2. Others are closed, and so are those of peers that trusted_proxies does not list.',
    ),
};

const redirectKeys = {
  ...addressKeys,
  proxy_protocol: grpcKeys.proxy_protocol,
  port: count(65_535).prefault(443).describe('The port of https that clients are sent to.'),
};

const clientKeys = {
  ...grpcKeys,
  h2c: yesOrNo()
    .prefault(false)
    .describe('Whether clients may speak HTTP/2 in cleartext as well, by prior knowledge.'),
};

const clientMap = z.strictObject(clientKeys);
const grpcMap = z.strictObject(grpcKeys);
const redirectMap = z.strictObject(redirectKeys);
const adminMap = z.strictObject({
  ...addressKeys,
  tls: adminTlsSchema.optional(),
  token_file: pathOfFile()
    .optional()
    .describe(
      'A file with the token of the admin API, at least 32 characters. Relative to this file, and followed when it changes. Left out: the API changes nothing, and shows callers only where it listens on loopback.',
    ),
});

/** An address, or a map with the address and what is spoken there. */
function listener() {
  return z
    .union([hostPort(), clientMap], { error: HOST_PORT_EXPECTED })
    .transform(value => ('address' in value ? value : clientMap.parse(written(value))));
}

function listenerOrOff<Map extends typeof adminMap | typeof grpcMap>(map: Map) {
  return z
    .union([hostPortOrOff(), map], { error: HOST_PORT_OR_OFF_EXPECTED })
    .transform((value): z.output<Map> | null => {
      if (value === null) return null;
      return ('host' in value ? map.parse(written(value as HostPort)) : value) as z.output<Map>;
    });
}

function redirectOrOff() {
  return z
    .union([hostPortOrOff(), redirectMap], { error: HOST_PORT_OR_OFF_EXPECTED })
    .transform(value => (value === null || 'address' in value ? value : redirectMap.parse(written(value))));
}

/** The map that means the same as this address alone. */
function written(address: HostPort) {
  return { address: formatHostPort(address) };
}

/** `listen` of gateway.yaml. */
export const listenSchema = z.strictObject(
  {
    http: listener()
      .prefault('0.0.0.0:8080')
      .describe('Where clients connect: host:port, or a map. Address changes take effect after a restart.'),
    redirect: redirectOrOff()
      .prefault('off')
      .describe(
        'Where clients of http are sent on to https: host:port, a map, or off. Every request is answered 308. Address changes take effect after a restart.',
      ),
    grpc: listenerOrOff(grpcMap)
      .prefault('off')
      .describe(
        'Where clients of gRPC connect, over HTTP/2 alone: host:port, a map, or off. Address changes take effect after a restart.',
      ),
    admin: listenerOrOff(adminMap)
      .prefault('127.0.0.1:9090')
      .describe(
        'Where metrics and health are served, for the platform only: host:port, a map, or off. Address changes take effect after a restart.',
      ),
  },
  mapSuchAs('{ http: 0.0.0.0:8080 }'),
);
