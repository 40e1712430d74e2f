import { z } from 'zod';
import {
  choice,
  count,
  formatHostPort,
  HOST_PORT_EXPECTED,
  HOST_PORT_OR_OFF_EXPECTED,
  type HostPort,
  hostPort,
  hostPortOrOff,
  mapExpected,
  parseHostPort,
  pathOfFile,
  unshown,
  yesOrNo,
} from '../../values/index.ts';

const CERTIFICATES_EXPECTED =
  'expected a list such as [{ certificate_file: tls/tls.crt, key_file: tls/tls.key }]';

const SERVER_NAME_EXPECTED = 'expected the name of a host such as api.internal';

const certificate = z.strictObject(
  {
    certificate_file: pathOfFile().describe(
      'The certificate in PEM form, followed by the intermediate certificates.',
    ),
    key_file: pathOfFile().describe('Its key, unencrypted PEM.'),
  },
  mapExpected('{ certificate_file: tls/tls.crt, key_file: tls/tls.key }'),
);

const clientCertificates = z.strictObject(
  {
    ca_file: pathOfFile().describe('The authorities whose certificates are accepted.'),
    required: yesOrNo()
      .prefault(true)
      .describe(
        'Whether a client must have a certificate. A client with a certificate that cannot be verified is always rejected.',
      ),
  },
  mapExpected('{ ca_file: clients-ca.crt }'),
);

const listenerKeys = {
  certificates: unshown(
    z
      .array(certificate, { error: CERTIFICATES_EXPECTED })
      .min(1, { error: 'TLS needs a certificate: name at least one' })
      .describe(
        'Each serves the names in it: a client is matched by the name it asks for (SNI). The first one serves all other clients.',
      ),
  ),
  min_version: choice(['TLSv1.2', 'TLSv1.3'])
    .prefault('TLSv1.2')
    .describe('The lowest TLS version. The highest is TLSv1.3.'),
};
const SUCH_AS = mapExpected('{ certificates: [{ certificate_file: tls/tls.crt, key_file: tls/tls.key }] }');
const LISTENER_TLS = 'Speaks TLS there. Files are PEM, relative to this file, and followed when they change.';

/** `tls` of a listener for clients. */
export const listenerTlsSchema = z
  .strictObject(
    {
      ...listenerKeys,
      http2: yesOrNo()
        .prefault(true)
        .describe('Whether clients may choose HTTP/2 in the handshake (ALPN). All may speak HTTP/1.1.'),
      client_certificates: clientCertificates
        .optional()
        .describe(
          'Asks clients for a certificate. Upstreams get a verified one in Client-Cert (RFC 9440); this field is removed from what clients send.',
        ),
    },
    SUCH_AS,
  )
  .describe(LISTENER_TLS);

/** `tls` of the admin listener. */
const adminTlsSchema = z
  .strictObject(
    {
      ...listenerKeys,
      client_certificates: clientCertificates.optional().describe('Asks clients for a certificate.'),
    },
    SUCH_AS,
  )
  .describe(LISTENER_TLS);

/** The TLS files for connections to a server. `what` names it: `a service`. */
export function clientTlsKeys(what: string) {
  return {
    ca_file: pathOfFile().optional().describe('Certificates to trust instead of the usual authorities.'),
    certificate_file: pathOfFile()
      .optional()
      .describe(`The gateway's own certificate, for ${what} that asks for one.`),
    key_file: pathOfFile().optional().describe('The key of that certificate, unencrypted.'),
  };
}

/** `tls` of an upstream. */
export const upstreamTlsSchema = z
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
    verify: yesOrNo()
      .prefault(true)
      .describe(
        'false: any certificate is accepted, so anyone on the network path can read and change everything.',
      ),
  })
  .describe(
    'TLS settings for https://. Files are PEM, relative to this file, and read again when they change.',
  );

const addressKeys = {
  address: hostPort().describe('Where it listens: host:port. Port 0 takes a free one, which is logged.'),
};

const grpcKeys = {
  ...addressKeys,
  tls: listenerTlsSchema.optional(),
  proxy_protocol: yesOrNo()
    .prefault(false)
    .describe(
      'Whether every connection must begin with a PROXY protocol header, version 1 or 2. Connections without one, or from peers not listed in trusted_proxies, are closed.',
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
      'A file with the token of the admin API, at least 32 characters. Relative to this file, and read again when it changes. Left out: the API is read-only, and shows callers only if it listens on loopback.',
    ),
});

/** An address, or a map with the address and protocol settings. */
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

/** The map equivalent to an address. */
function written(address: HostPort) {
  return { address: formatHostPort(address) };
}

/** `listen` of gateway.yaml. */
export const listenSchema = z.strictObject(
  {
    http: listener()
      .prefault('[::]:8080')
      .describe('Where clients connect: host:port, or a map. Address changes take effect after a restart.'),
    redirect: redirectOrOff()
      .prefault('off')
      .describe(
        'A listener that redirects clients from http to https: host:port, a map, or off. Every request gets a 308. Address changes take effect after a restart.',
      ),
    grpc: listenerOrOff(grpcMap)
      .prefault('off')
      .describe(
        'Where gRPC clients connect, over HTTP/2 only: host:port, a map, or off. Address changes take effect after a restart.',
      ),
    admin: listenerOrOff(adminMap)
      .prefault('127.0.0.1:9090')
      .describe(
        'Where metrics and health are served, for the platform only: host:port, a map, or off. Address changes take effect after a restart.',
      ),
  },
  mapExpected('{ http: 0.0.0.0:8080 }'),
);
