import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type Clock, jsonIn, PACKAGE_ROOT } from '../../core/index.ts';

const MEBIBYTE = 1024 * 1024;
const TICK_MS = 500;
const MAX_TICKS = 7_200;
const MAX_DOWNLOAD_MIB = 10_240;

interface Backend {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Starts the demo's service on 127.0.0.1, on any free port if `port` is 0:
 *
 * - `GET` and `POST /v1/channels/{channel_id}/messages`: lists messages, or adds one from `{"text": "..."}`
 * - `GET /v1/ticks?count=N`: N server-sent events, two a second (default 5)
 * - `/v1/echo`, any method: the request as it arrived, with the header fields that the gateway sent
 * - `GET /v1/download?mib=N`: N MiB (default 64)
 * - `GET /app/`: a page that signs users in and calls
 */
export async function startBackend(port: number, clock: Clock): Promise<Backend> {
  const messages = new ChatMessages(clock);
  const server = createServer((request, response) => {
    answer(request, response, messages).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  messages: ChatMessages,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://backend');
  const number = (name: string, usual: number, max: number): number =>
    Math.min(Math.max(Math.trunc(Number(searchParams.get(name) ?? usual)) || 0, 0), max);
  const channelId = /^\/v1\/channels\/([^/]+)\/messages$/.exec(pathname)?.[1];
  if (channelId !== undefined) return await responseMessages(request, response, messages, channelId);
  if (pathname === '/v1/ticks') return tick(response, number('count', 5, MAX_TICKS));
  if (pathname === '/v1/echo') return await echo(request, response);
  if (pathname === '/v1/download') return await download(response, number('mib', 64, MAX_DOWNLOAD_MIB));
  const file = await appFile(pathname);
  if (file !== null) return sendFile(response, file);
  sendJson(response, 404, { error: `the backend has nothing at ${pathname}` });
}

async function responseMessages(
  request: IncomingMessage,
  response: ServerResponse,
  messages: ChatMessages,
  channelId: string,
): Promise<void> {
  if (request.method !== 'POST') return sendJson(response, 200, messages.list(channelId));
  const message = textOf(await text(request));
  if (message === null) return sendJson(response, 400, { error: 'expected {"text": "..."}' });
  sendJson(response, 201, messages.post(channelId, message));
}

function textOf(json: string): string | null {
  const body = jsonIn(json);
  if (typeof body !== 'object' || body === null || !('text' in body)) return null;
  return typeof body.text === 'string' ? body.text : null;
}

function tick(response: ServerResponse, count: number): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  let sent = 0;
  const next = (): void => {
    if (sent === count) response.end();
    else response.write(`id: ${++sent}\ndata: tick ${sent} of ${count}\n\n`);
  };
  const timer = setInterval(next, TICK_MS);
  response.on('close', () => clearInterval(timer));
  next();
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const { method, url, rawHeaders } = request;
  const headers = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}`] : []));
  sendJson(response, 200, { method, url, headers, body });
}

async function download(response: ServerResponse, mebibytes: number): Promise<void> {
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': mebibytes * MEBIBYTE,
  });
  const piece = Buffer.alloc(MEBIBYTE, 'weir');
  await pipeline(Readable.from(Array<Buffer>(mebibytes).fill(piece)), response);
}

function sendFile(response: ServerResponse, { type, text }: AppFile): void {
  const body = Buffer.from(text);
  response.writeHead(200, {
    'Content-Type': type,
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'self'; img-src data:; frame-ancestors 'none'",
    // Keep the URL secret: after a sign-in it contains a code.
    'Referrer-Policy': 'no-referrer',
  });
  response.end(body);
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  response.end(body);
}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

const FOLDER = resolve(PACKAGE_ROOT, 'config/demo/app');
const CLIENTS = resolve(PACKAGE_ROOT, 'docs/clients.md');

const PAGE = { file: 'index.html', type: 'text/html; charset=utf-8' } as const;
const FILES: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  '/app': PAGE,
  '/app/': PAGE,
  // The provider sends browsers back here.
  '/app/callback': PAGE,
  '/app/app.css': { file: 'app.css', type: 'text/css' },
  '/app/app.js': { file: 'app.js', type: 'text/javascript' },
  '/app/client.js': { file: 'client.js', type: 'text/javascript' },
};

interface AppFile {
  readonly type: string;
  readonly text: string;
}

async function appFile(path: string): Promise<AppFile | null> {
  const found = FILES[path];
  if (found === undefined) return null;
  const text =
    found.file === 'client.js' ? await clientCode() : await readFile(resolve(FOLDER, found.file), 'utf8');
  return { type: found.type, text };
}

/** The JavaScript client in docs/clients.md, unchanged. */
async function clientCode(): Promise<string> {
  const code = /^```js\n([\s\S]*?)^```$/m.exec(await readFile(CLIENTS, 'utf8'))?.[1];
  if (code === undefined) throw new Error('docs/clients.md has no client in JavaScript');
  return code;
}

interface Message {
  readonly id: number;
  readonly channelId: string;
  readonly text: string;
  /** ISO 8601, UTC. */
  readonly sentAt: string;
}

/** Maximum messages kept per channel, and maximum channels: the latest ones. */
const MAX_MESSAGES = 100;
const MAX_CHANNELS = 100;

/** Channels and their messages, in memory. The first message creates its channel. */
export class ChatMessages {
  readonly #clock: Clock;
  readonly #channels = new Map<string, Message[]>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The messages of a channel, oldest first. */
  list(channelId: string): readonly Message[] {
    return this.#channels.get(channelId) ?? [];
  }

  post(channelId: string, text: string): Message {
    const sentAt = new Date(this.#clock.epochMs()).toISOString();
    const message = { id: ++this.#lastId, channelId, text, sentAt };
    const messages = [...this.list(channelId), message].slice(-MAX_MESSAGES);
    // Delete and set again, so that the map's first key is the channel that was least recently written to.
    this.#channels.delete(channelId);
    this.#channels.set(channelId, messages);
    const [oldest] = this.#channels.keys();
    if (oldest !== undefined && this.#channels.size > MAX_CHANNELS) this.#channels.delete(oldest);
    return message;
  }
}
