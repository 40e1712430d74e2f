import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import { freePort } from './free-port.ts';

/** How an endpoint answers. */
export type Script = (response: ServerResponse, socket: Socket) => void;

/** A request to an endpoint that takes secrets, as it came. */
export interface TokenRequest {
  readonly method: string;
  readonly headers: Readonly<IncomingMessage['headers']>;
  /** Byte for byte; the form is ASCII. */
  readonly body: string;
  /** Counts the connections that carried token requests, from 1. */
  readonly connection: number;
  /** Subject of the client's certificate, where one was shown. */
  readonly certificate: string | undefined;
}

/** An identity provider, controlled by the test, that records its requests. */
export interface ScriptedProvider {
  readonly issuer: string;
  readonly port: number;
  /** A test that shares it with others may empty it. */
  readonly tokenRequests: TokenRequest[];
  /** Requests to revoke a refresh token (/revoke) or to end a session (/logout). */
  readonly endRequests: readonly (TokenRequest & { readonly path: string })[];
  /** How many times the discovery document was asked for. */
  readonly discoveries: number;
  /** How many times the key set was asked for. */
  readonly keyFetches: number;
  /** May be changed at any time. At the start: `scripts.tokens()`. */
  token: Script;
  /** How both /revoke and /logout answer; may be changed at any time. At the start: 200. */
  end: Script;
  /** May be changed at any time. At the start: a right document. */
  discovery: Script;
  /** Requests to the introspection endpoint. */
  readonly introspections: readonly TokenRequest[];
  /** May be changed at any time. At the start: every token is active. */
  introspection: Script;
  /** May be changed at any time. At the start: no such thing. */
  keys: Script;
  close(): Promise<void>;
}

export interface ScriptedOptions {
  /** Default: one that nobody else is given, so that nobody answers there once the provider is closed. */
  readonly port?: number;
  /** Speak https with these. */
  readonly tls?: ServerOptions;
  /** Members of the discovery document in addition to the usual ones, or in place of them. */
  readonly document?: Readonly<Record<string, unknown>>;
}

export async function startScriptedProvider(options: ScriptedOptions = {}): Promise<ScriptedProvider> {
  const tokenRequests: TokenRequest[] = [];
  const endRequests: (TokenRequest & { path: string })[] = [];
  const connections = new Map<Socket, number>();
  const introspections: TokenRequest[] = [];
  let discoveries = 0;
  let keyFetches = 0;

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { url: path = '' } = request;
    if (['/token', '/revoke', '/logout', '/introspect'].includes(path)) {
      const { socket } = request;
      const connection = connections.get(socket) ?? connections.size + 1;
      connections.set(socket, connection);
      void text(request.setEncoding('latin1')).then(
        body => {
          const certificate =
            socket instanceof TLSSocket ? socket.getPeerCertificate().subject?.CN : undefined;
          const { method = '', headers } = request;
          const came = { method, headers, body, connection, certificate: certificate?.toString() };
          if (path === '/introspect') {
            introspections.push(came);
            provider.introspection(response, socket);
            return;
          }
          if (path === '/token') tokenRequests.push(came);
          else endRequests.push({ ...came, path });
          (path === '/token' ? provider.token : provider.end)(response, socket);
        },
        () => undefined,
      );
    } else if (request.url === '/keys') {
      keyFetches += 1;
      provider.keys(response, request.socket);
    } else {
      discoveries += 1;
      provider.discovery(response, request.socket);
    }
  };
  const server = options.tls ? createHttpsServer(options.tls, serve) : createHttpServer(serve);
  const port = options.port ?? (await freePort());
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve));
  const issuer = `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`;

  const provider = {
    issuer,
    port,
    tokenRequests,
    endRequests,
    get discoveries() {
      return discoveries;
    },
    get keyFetches() {
      return keyFetches;
    },
    token: scripts.tokens(),
    introspections,
    introspection: scripts.json(200, { active: true }),
    end: scripts.empty(200),
    discovery: scripts.json(200, {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      revocation_endpoint: `${issuer}/revoke`,
      end_session_endpoint: `${issuer}/logout`,
      introspection_endpoint: `${issuer}/introspect`,
      ...options.document,
    }),
    keys: scripts.html(404),
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return provider;
}

/** An unsigned JWT with these claims, for code that does not verify it. */
export function unsignedJwt(claims: Readonly<Record<string, unknown>>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}.c2lnbmF0dXJl`;
}

export const scripts = {
  json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Script {
    return response =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(body));
  },

  /** A good token response without any member that a provider may leave out; `more` adds some. */
  tokens(more: Readonly<Record<string, unknown>> = {}): Script {
    return scripts.json(200, { access_token: unsignedJwt({ sub: 'alice' }), token_type: 'Bearer', ...more });
  },

  empty(status: number): Script {
    return response => response.writeHead(status).end();
  },

  html(status: number): Script {
    return response =>
      response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>We are sorry</h1> marker-page');
  },

  redirect(location: string): Script {
    return response => response.writeHead(302, { location }).end();
  },

  /** Takes the request and says nothing. */
  hang: (() => undefined) as Script,

  /** Sends a head and half a body, and no more. */
  hangInBody: (response => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"access_token":"marker-token');
  }) as Script,

  /** Takes the request and resets the connection. */
  reset: ((_response, socket) => void socket.resetAndDestroy()) as Script,

  resetInBody: ((response, socket) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
    response.write('{"access_token":"marker-token', () => setImmediate(() => socket.resetAndDestroy()));
  }) as Script,

  /** Ends the connection properly, before as many bytes as were promised. */
  endInBody: ((_response, socket) => {
    socket.end(
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"access_token":"marker-t',
    );
  }) as Script,

  /** A whole response whose JSON is not. */
  truncatedJson: (response => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"access_token":"marker-token","token_ty');
  }) as Script,

  /** JSON that is as large as said. */
  huge(bytes: number): Script {
    return response => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const piece = Buffer.alloc(65_536, 0x61);
      response.write('{"access_token":"');
      const more = (left: number): void => {
        if (left <= 0) response.end('"}');
        else if (!response.destroyed) response.write(piece, () => more(left - piece.length));
      };
      more(bytes);
    };
  },

  /** These bytes and the end of the connection. */
  raw(bytes: string): Script {
    return (_response, socket) => void socket.end(bytes);
  },
} as const;

/** What Keycloak 26 says, word for word. */
export const keycloak = {
  codeNotValid: scripts.json(400, { error: 'invalid_grant', error_description: 'Code not valid' }),
  invalidRefreshToken: scripts.json(400, {
    error: 'invalid_grant',
    error_description: 'Invalid refresh token',
  }),
  incorrectRedirectUri: scripts.json(400, {
    error: 'invalid_grant',
    error_description: 'Incorrect redirect_uri',
  }),
  wrongSecret: scripts.json(401, {
    error: 'unauthorized_client',
    error_description: 'Invalid client or Invalid client credentials',
  }),
} as const;
