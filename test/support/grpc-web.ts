import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Metadata, type ServerUnaryCall, type ServerWritableStream } from '@grpc/grpc-js';
import { rolldown } from 'rolldown';
import type { LocalGateway } from './gateway.ts';
import { startGrpcServer } from './grpc.ts';
import { ask, connectHttp2 } from './http2-client.ts';
import { tempFolder } from './temp.ts';

/** How a client of gRPC-Web saw a call end. */
export interface WebResult {
  readonly messages: readonly string[];
  readonly code: number;
  readonly message: string;
  /** From the head and from the end. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface WebCallOptions {
  /** connect-web, or grpc-web in one of its two forms. */
  readonly client: 'connect' | 'binary' | 'text';
  readonly base: string;
  readonly method: 'Unary' | 'Download';
  readonly text: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Cancels the call after so many messages. */
  readonly stopAfter?: number;
}

/** What grpc-web/clients.js offers. */
export interface WebClients {
  call(options: WebCallOptions, fetch?: unknown): Promise<WebResult>;
}

/** The clients as one script: a module, or for a page, where they are `clients`. */
export async function bundleWebClients(format: 'esm' | 'iife'): Promise<string> {
  const build = await rolldown({ input: join(import.meta.dirname, 'grpc-web/clients.js'), tsconfig: false });
  const { output } = await build.generate({ format, name: 'clients' });
  await build.close();
  return output[0].code;
}

/** Loads the clients into this process. Only connect runs here: the others need XMLHttpRequest. */
export async function loadWebClients(): Promise<WebClients> {
  const file = join(await tempFolder(), 'clients.mjs');
  await writeFile(file, await bundleWebClients('esm'));
  return import(pathToFileURL(file).href);
}

/** The messages of the service, `{ string text = 1 }`, with texts shorter than 128 bytes. */
const textOf = (message: Buffer) => message.subarray(2).toString();
function messageOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([10, bytes.length]), bytes]);
}

type Open = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

/** A service for clients of gRPC-Web, which does what the text of a request says. */
export interface WebService {
  readonly port: number;
  /** The calls that stay open. */
  readonly open: readonly Open[];
  /** The metadata of every call. */
  readonly metadata: readonly Metadata[];
}

/**
 * `fail`: ends with a status; `wait`: stays open. Else Unary answers with the text, and Download with the numbers up to it, before it does what
 * comes behind a blank: `2 fail`. Metadata stands at the head and at the end.
 */
export async function startWebService(): Promise<WebService> {
  const open: Open[] = [];
  const seen: Metadata[] = [];
  const note = (call: Open) => {
    seen.push(call.metadata);
    return textOf(call.request);
  };
  const port = await startGrpcServer({
    Unary: (call: ServerUnaryCall<Buffer, Buffer>, done: Done) => {
      const text = note(call);
      if (text === 'wait') open.push(call);
      else if (text === 'fail') done(failure());
      else {
        call.sendMetadata(withMark('x-head', 'one'));
        done(null, messageOf(text), withMark('x-end', 'two'));
      }
    },
    Download: (call: ServerWritableStream<Buffer, Buffer>) => {
      const [count, then] = note(call).split(' ');
      if (Number(count) > 0) call.sendMetadata(withMark('x-head', 'one'));
      for (let i = 1; i <= Number(count); i++) call.write(messageOf(String(i)));
      if (then === 'wait') open.push(call);
      else if (then === 'fail') call.emit('error', failure());
      else call.end(withMark('x-end', 'two'));
    },
    Upload: () => {},
    Talk: () => {},
  });
  return { port, open, metadata: seen };
}

type Done = (error: object | null, message?: Buffer, trailers?: Metadata) => void;

function withMark(name: string, value: string): Metadata {
  const metadata = new Metadata();
  metadata.set(name, value);
  return metadata;
}

/** What `fail` ends with. */
export const FAILED = { code: 9, details: 'no: 5% é ☺' };
const failure = () => ({ ...FAILED, metadata: withMark('x-why', 'because') });

/** The route of gateway.yaml that leads to a service, which takes gRPC-Web. */
export function webRoute(port: number, route: object = {}, upstream: object = {}) {
  return {
    upstreams: { calls: { url: `http://127.0.0.1:${port}`, protocol: 'grpc', ...upstream } },
    routes: [{ grpc: 'test.v1.Echo/*', upstream: 'calls', authentication: 'none', grpc_web: true, ...route }],
  };
}

/** A message of the service in its frame. */
export function framed(text: string, flags = 0): Buffer {
  const message = messageOf(text);
  const head = Buffer.from([flags, 0, 0, 0, message.length]);
  return Buffer.concat([head, message]);
}

export interface PostOptions {
  readonly path?: string;
  /** Default: `application/grpc-web+proto`. */
  readonly type?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

/** A response as it came. */
export interface Posted {
  readonly status: number;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** Sends a call as bytes, over HTTP/1.1 or HTTP/2. */
export async function post(
  gateway: LocalGateway,
  version: '1.1' | '2',
  options: PostOptions,
): Promise<Posted> {
  const { path = '/test.v1.Echo/Unary', type = 'application/grpc-web+proto', fields = {}, body } = options;
  if (version === '2') {
    const asked = { ':method': 'POST', ':path': path, 'content-type': type, ...fields };
    return ask(connectHttp2(gateway), asked, body);
  }
  // A gateway that drains waits for a connection that is kept.
  const headers = { Connection: 'close', 'Content-Type': type, ...fields };
  const url = `http://127.0.0.1:${gateway.port}${path}`;
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(Buffer.from(body)) });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, fields: Object.fromEntries(response.headers), body: bytes };
}

/** The texts and the trailers in the body of a response. */
export function readBody(body: Buffer): { messages: string[]; trailers: Record<string, string> } {
  const messages: string[] = [];
  const trailers: Record<string, string> = {};
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    const content = body.subarray(at + 5, end);
    if (end > body.length) throw new Error('the body ends within a frame');
    if (body[at] === 0) messages.push(textOf(content));
    else if (end !== body.length) throw new Error('trailers that are not last');
    else
      for (const line of content.toString('latin1').split('\r\n').slice(0, -1)) {
        const colon = line.indexOf(': ');
        trailers[line.slice(0, colon)] = line.slice(colon + 2);
      }
    at = end;
  }
  return { messages, trailers };
}

/** The same of a text, whose pieces are padded each. */
export function readText(body: Buffer) {
  const groups = body.toString('latin1').match(/.{1,4}/gs) ?? [];
  return readBody(Buffer.concat(groups.map(group => Buffer.from(group, 'base64'))));
}
