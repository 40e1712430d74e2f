import { once } from 'node:events';
import { connect, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import {
  type ChannelOptions,
  type Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type MethodDefinition,
  makeGenericClientConstructor,
  Server,
  ServerCredentials,
  type StatusObject,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';

/** Messages are bytes: what they mean does not matter here. */
type Method = MethodDefinition<Buffer, Buffer>;

function method(name: string, requestStream: boolean, responseStream: boolean): Method {
  const same = (bytes: Buffer) => bytes;
  return {
    path: `/test.v1.Echo/${name}`,
    requestStream,
    responseStream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

/** The service that the tests call: one method of each kind. */
const ECHO = {
  Unary: method('Unary', false, false),
  Upload: method('Upload', true, false),
  Download: method('Download', false, true),
  Talk: method('Talk', true, true),
} as const;

const EchoClient = makeGenericClientConstructor(ECHO, 'Echo');

/** Starts a server of gRPC on a free port of 127.0.0.1. The end of the running test closes it. */
export async function startGrpcServer(methods: UntypedServiceImplementation): Promise<number> {
  return (await startMortalGrpcServer(methods)).port;
}

/** The same, with what ends it and every call at once. Default: a port that nobody else is given while it is dead. */
export async function startMortalGrpcServer(
  methods: UntypedServiceImplementation,
  port?: number,
): Promise<{ readonly port: number; die(): void }> {
  const at = port ?? (await freePort());
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  server.addService(ECHO, methods);
  const die = () => server.forceShutdown();
  onTestFinished(die);
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${at}`, ServerCredentials.createInsecure(), error =>
      error === null ? resolve({ port: at, die }) : reject(error),
    );
  });
}

/** Starts a server of `grpc.health.v1` on a free port of 127.0.0.1, which answers with this status and notes the service. */
export async function startHealthServer(health: { status: number; service?: string }): Promise<number> {
  const server = new Server();
  const path = '/grpc.health.v1.Health/Check';
  server.addService(
    { Check: { ...method('Check', false, false), path } },
    {
      Check: (call: { readonly request: Buffer }, answer: (error: null, message: Buffer) => void) => {
        // Field 1: a string with its length in the request, a number in the response.
        health.service = call.request.subarray(2).toString();
        answer(null, Buffer.from([0x08, health.status]));
      },
    },
  );
  onTestFinished(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

/** A client of the service, over a connection of its own: with `ca`, over TLS. The end of the running test closes it. */
export function grpcClient(port: number, options: ChannelOptions = {}, ca: string | null = null): Client {
  const secured = ca === null ? credentials.createInsecure() : credentials.createSsl(Buffer.from(ca));
  const client = new EchoClient(`127.0.0.1:${port}`, secured, {
    // Node.js 26 refuses an address as the name of a server, which this client would send.
    ...(ca !== null && { 'grpc.ssl_target_name_override': 'localhost' }),
    'grpc.max_receive_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

/** How a call ended, as its client saw it. */
export interface CallResult {
  readonly messages: readonly Buffer[];
  readonly head: Metadata;
  readonly status: StatusObject;
}

export interface CallOptions {
  readonly metadata?: Readonly<Record<string, string | Buffer | readonly (string | Buffer)[]>>;
  readonly deadlineMs?: number;
}

/** A call under way: as much of it as any kind has. */
export function openCall(
  client: Client,
  path: string,
  { metadata = {}, deadlineMs }: CallOptions = {},
): ClientDuplexStream<Buffer, Buffer> {
  const sent = new Metadata();
  for (const [name, values] of Object.entries(metadata))
    for (const value of Array.isArray(values) ? values : [values]) sent.add(name, value);
  const same = (bytes: Buffer) => bytes;
  return client.makeBidiStreamRequest(path, same, same, sent, {
    ...(deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs }),
  });
}

/** Resolves when the call has ended; never rejects. */
export async function ended(call: ClientDuplexStream<Buffer, Buffer>): Promise<CallResult> {
  const messages: Buffer[] = [];
  let head = new Metadata();
  call.on('metadata', metadata => {
    head = metadata;
  });
  call.on('data', bytes => messages.push(bytes));
  // The status says the same.
  call.on('error', () => {});
  const end = new Promise(resolve => call.on('end', resolve));
  const status = await new Promise<StatusObject>(resolve => call.on('status', resolve));
  // The last messages may still be in the stream.
  await end;
  return { messages, head, status };
}

/** Sends these messages, ends the request and waits for the end of the call. */
export function callOnce(
  client: Client,
  path: string,
  messages: readonly Buffer[] = [Buffer.from('hello')],
  options: CallOptions = {},
): Promise<CallResult> {
  const call = openCall(client, path, options);
  const result = ended(call);
  for (const message of messages) call.write(message);
  call.end();
  return result;
}

/** Opens a call over HTTP/2 itself, which watches no deadline and never ends its request; resolves with all fields of the response. */
export async function postRaw(
  port: number,
  fields: Readonly<Record<string, string>>,
): Promise<IncomingHttpHeaders & { ':status'?: number }> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  onTestFinished(() => session.destroy());
  const stream = session.request(
    {
      ':method': 'POST',
      ':path': '/test.v1.Echo/Talk',
      'content-type': 'application/grpc',
      te: 'trailers',
      ...fields,
    },
    { endStream: false },
  );
  const found = {};
  stream.on('response', head => Object.assign(found, head));
  stream.on('trailers', trailers => Object.assign(found, trailers));
  stream.resume();
  await once(stream, 'end');
  return found;
}

/** A message on the wire of gRPC. */
export function framed(text: string): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(text.length, 1);
  return Buffer.concat([prefix, Buffer.from(text)]);
}

/** Reads messages from the wire of gRPC, in whatever pieces they come. */
export class GrpcReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Returns the texts of the messages that end within this piece. */
  read(piece: Buffer): string[] {
    const texts: string[] = [];
    this.#rest = Buffer.concat([this.#rest, piece]);
    for (;;) {
      const end = this.#rest.length < 5 ? Number.POSITIVE_INFINITY : 5 + this.#rest.readUInt32BE(1);
      if (this.#rest.length < end) return texts;
      texts.push(this.#rest.toString('latin1', 5, end));
      this.#rest = this.#rest.subarray(end);
    }
  }
}

/** Starts a server that breaks the connection of each call: at once, or with `x-when: after` behind its first message. Returns its port. */
export async function startDyingServer(): Promise<number> {
  const server = createServer();
  server.on('stream', (stream: ServerHttp2Stream, head) => {
    stream.on('error', () => {});
    if (head['x-when'] === 'before') {
      stream.session?.socket.destroy();
      return;
    }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.write(framed('part'), () => setImmediate(() => stream.session?.destroy()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}
