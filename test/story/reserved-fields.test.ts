import { describe, expect, test } from 'vitest';
import { foldName } from '../../src/wire/http/index.ts';
import {
  CALLER_CLAIMS,
  INTERNAL,
  namesOf,
  ORIGIN_CLAIMS,
  OVERRIDES,
} from '../../src/wire/http/reserved-fields.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { framed } from '../support/grpc-web.ts';
import { startH2Upstream } from '../support/h2-upstream.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { agreementToHead, handshake, startRawUpstream } from '../support/raw-web-sockets.ts';
import { head, withBody } from '../support/requests.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { askForWebSocket, connectForWebSockets } from '../support/web-sockets-http2.ts';

/** The names of fields, with the same value each, and further fields. */
interface Sent {
  readonly names: readonly string[];
  readonly value: string;
  readonly more?: Readonly<Record<string, string>>;
}

/** Names and values that reached a service, in lower case, in the order in which they came. */
type Reached = readonly (readonly [string, string])[];

interface Front {
  readonly gateway: LocalGateway;
  /** What the service got with the last request. */
  reached(): Reached;
}

type Dialect = (front: Front, sent: Sent) => Promise<unknown>;

const lines = ({ names, value, more = {} }: Sent) => [
  ...names.map(name => `${name}: ${value}`),
  ...Object.entries(more).map(([name, each]) => `${name}: ${each}`),
];
const fields = ({ names, value, more = {} }: Sent) =>
  Object.fromEntries([...names.map(name => [name.toLowerCase(), value]), ...Object.entries(more)]);

const CALL = { ':method': 'POST', ':path': '/a.B/C' };
const WEB = 'application/grpc-web+proto';
const MESSAGE = framed('a').toString('latin1');

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'HTTP/1.1': ({ gateway }, sent) => gateway.ask(head('GET /a', ...lines(sent))),
  'HTTP/2': ({ gateway }, sent) => ask(connectHttp2(gateway), { ':path': '/a', ...fields(sent) }),
  gRPC: ({ gateway }, sent) =>
    ask(
      connectHttp2(gateway),
      { ...CALL, 'content-type': 'application/grpc', te: 'trailers', ...fields(sent) },
      MESSAGE,
    ),
  'gRPC-Web over HTTP/1.1': ({ gateway }, sent) =>
    gateway.ask(withBody('POST /a.B/C', MESSAGE, `Content-Type: ${WEB}`, ...lines(sent))),
  'gRPC-Web over HTTP/2': ({ gateway }, sent) =>
    ask(connectHttp2(gateway), { ...CALL, 'content-type': WEB, ...fields(sent) }, MESSAGE),
  'a WebSocket': async ({ gateway }, sent) => {
    const client = await gateway.connect();
    await client.send(handshake('/a', ...lines(sent)));
    await expect.poll(() => client.received.toString('latin1')).toMatch(/^HTTP\/1.1 101 /);
    client.destroy();
  },
  'a WebSocket over HTTP/2': async ({ gateway }, sent) => {
    const session = await connectForWebSockets(gateway);
    (await askForWebSocket(session, '/a', fields(sent))).stream.close();
  },
};

/** A gateway before a service for each dialect. */
async function start(config: object = {}, route: object = { authentication: 'none' }): Promise<Front> {
  let last: Reached = [];
  const http = await startRawUpstream(peer => {
    const written = peer.head
      .split('\r\n')
      .slice(1)
      .filter(line => line !== '');
    last = written.map(line => [line.split(': ')[0]?.toLowerCase() ?? '', line.replace(/^[^:]*: /, '')]);
    const isWebSocket = /\r\nupgrade: websocket/i.test(peer.head);
    const plain = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
    peer.socket.write(isWebSocket ? agreementToHead(peer.head) : plain);
  });
  const calls = await startH2Upstream(({ stream, section }) => {
    const pairs = section.flatMap((name, index) =>
      index % 2 === 0 ? [[name, section[index + 1] ?? '']] : [],
    );
    last = pairs as unknown as Reached;
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '0' },
      { endStream: true },
    );
  });
  const gateway = await startGateway({
    upstreamPort: http.port,
    config: {
      listen: H2C,
      upstreams: {
        http: { url: `http://127.0.0.1:${http.port}` },
        calls: { url: `http://127.0.0.1:${calls.port}`, protocol: 'grpc' },
      },
      routes: [
        { path: '/a', upstream: 'http', websocket: true, ...route },
        { grpc: 'a.B/*', upstream: 'calls', grpc_web: true, ...route },
      ],
      ...config,
    },
  });
  return { gateway, reached: () => last };
}

const reserved = [CALLER_CLAIMS, ORIGIN_CLAIMS, INTERNAL, OVERRIDES].flatMap(namesOf);
/** A field of each name and family. The service gets some in any case, with what the gateway writes. */
const samples = reserved.map(name => name.replace(/\*$/, 'Any-Thing'));

const SPELLINGS: readonly ((name: string) => string)[] = [
  name => name,
  name => name.replaceAll('-', '_'),
  foldName,
  name => name.replace('-', '.').replaceAll('-', '~'),
];

/** The names in groups that fit into a head. */
function groups(names: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(names.length / 80) }, (_, index) =>
    names.slice(80 * index, 80 * index + 80),
  );
}

const forged = (reached: Reached) => reached.filter(([, value]) => value === 'forged').map(([name]) => name);

describe.each(Object.entries(DIALECTS))('over %s', (_, send) => {
  test('no client tells who it is or where it is in the words of a gateway, however it spells them', async () => {
    const front = await start();
    for (const spell of SPELLINGS)
      for (const names of groups(samples.map(spell))) {
        await send(front, { names: [...names, 'X-Marker'], value: 'forged' });
        expect(forged(front.reached())).toEqual(['x-marker']);
      }
  });

  test("what the gateway writes in such a field is the token's and the operator's, never the client's", async () => {
    const issuer = await startIssuer();
    const front = await start(
      {
        identity_provider: { issuer: issuer.url },
        access_tokens: {
          audience: 'api',
          identity_headers: { 'X-Consumer-Custom-ID': 'sub', 'X-Forwarded-User': 'sub' },
        },
        forwarding_headers: { keep: ['X-Consumer-*'] },
      },
      {
        request_headers: { set: { 'X-Consumer-Username': 'main', 'X-Credential-Identifier': '{claim.azp}' } },
      },
    );
    const own = [
      'x-consumer-custom-id',
      'x-forwarded-user',
      'x-consumer-username',
      'x-credential-identifier',
    ];
    const [, token = ''] = issuer.bearer({ sub: 'alice', azp: 'app' }).split(': ');
    for (const spell of SPELLINGS) {
      await send(front, { names: own.map(spell), value: 'forged', more: { authorization: token } });
      expect(forged(front.reached())).toEqual([]);
      expect(
        front
          .reached()
          .filter(([name]) => own.includes(name))
          .sort(),
      ).toEqual([
        ['x-consumer-custom-id', 'alice'],
        ['x-consumer-username', 'main'],
        ['x-credential-identifier', 'app'],
        ['x-forwarded-user', 'alice'],
      ]);
    }
  });
});
