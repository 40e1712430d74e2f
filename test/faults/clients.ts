import type { ClientHttp2Session } from 'node:http2';
import { status as grpcStatus } from '@grpc/grpc-js';
import { WebSocket } from 'ws';
import { framed, GrpcReader } from '../support/grpc.ts';
import { ask, connectHttp2, read } from '../support/http2-client.ts';
import { head, withBody } from '../support/requests.ts';
import { sleep } from '../support/wait.ts';
import { header, NoResponse, openRaw, type RawClient } from '../support/wire/index.ts';
import { type Entry, echoOf, type Outcome } from './account.ts';
import type { Load } from './load.ts';
import { LIVE, TALK } from './service.ts';

const SILENCE_MS = 60_000;

/** Lets the processors serve others: a client that asks at once whenever it was answered takes all of them. */
function pause(): Promise<void> {
  return sleep(4);
}

/** Resolves to null if nothing comes for a minute. */
async function unlessSilent<T>(answer: Promise<T>): Promise<T | null> {
  const silence = new AbortController();
  const waited = sleep(SILENCE_MS, null, { signal: silence.signal }).catch(() => null);
  const outcome = await Promise.race([answer, waited]);
  silence.abort();
  return outcome;
}

/** A client of HTTP/1.1 with one connection. */
export async function overHttp1(load: Load): Promise<void> {
  const { perConnection = Number.POSITIVE_INFINITY } = load.options;
  let client: RawClient | null = null;
  let asked = 0;
  while (!load.isStopped) {
    const entry = load.begin('request');
    client ??= await openRaw(load.nextPort()).catch(() => null);
    if (client === null) entry.outcome = 'unconnected';
    else if (!(await askOverHttp1(load, client, entry)) || ++asked >= perConnection) {
      client.destroy();
      client = null;
      asked = 0;
    }
    await pause();
    load.account.surplus += client?.unread.length ?? 0;
  }
  client?.destroy();
}

/** Resolves to whether the connection can take another request. */
async function askOverHttp1({ options }: Load, client: RawClient, entry: Entry): Promise<boolean> {
  const { method, target, body } = entry;
  const lines = Object.entries(options.fields ?? {}).map(([name, value]) => `${name}: ${value}`);
  const line = `${method} ${target}`;
  try {
    const bytes = method === 'POST' ? withBody(line, body, ...lines) : head(line, ...lines);
    const response = await unlessSilent(client.ask(bytes));
    if (response === null) {
      entry.outcome = 'silent';
      return false;
    }
    entry.answered(response.status, response.body.toString('latin1'), response.complete);
    return response.complete && client.end === null && header(response, 'connection') !== 'close';
  } catch (error) {
    if (!(error instanceof NoResponse)) throw error;
    entry.outcome = 'broken';
    return false;
  }
}

/** A session of HTTP/2 with three requests and some calls of gRPC at a time. */
export async function overHttp2(load: Load): Promise<void> {
  let session: ClientHttp2Session | null = null;
  let isConnected = false;
  const current = (): ClientHttp2Session => {
    if (session === null || session.closed || session.destroyed) {
      isConnected = false;
      session = connectHttp2({ port: load.nextPort() });
      session.on('connect', () => {
        isConnected = true;
      });
    }
    return session;
  };
  const repeat = async (kind: 'request' | 'call', send: typeof askOverHttp2): Promise<void> => {
    while (!load.isStopped) {
      const entry = load.begin(kind);
      await send(load, current(), entry);
      if (entry.outcome === 'broken' && !isConnected) entry.outcome = 'unconnected';
      await pause();
    }
  };
  const requests = () => repeat('request', askOverHttp2);
  const calls = Array.from({ length: load.options.calls ?? 1 }, () => repeat('call', call));
  await Promise.all([requests(), requests(), requests(), ...calls]);
  current().destroy();
}

async function askOverHttp2({ options }: Load, session: ClientHttp2Session, entry: Entry): Promise<void> {
  const { method, target, body } = entry;
  const fields = { ':method': method, ':path': target, ':authority': 'gateway.test', ...options.fields };
  const response = await unlessSilent(ask(session, fields, body === '' ? undefined : body));
  if (response === null) entry.outcome = 'silent';
  else {
    const { status, rstCode } = response;
    entry.answered(status, response.body.toString('latin1'), status !== 0 && rstCode === 0);
  }
}

/** Messages of each call, and how many of them are under way at a time. */
const MESSAGES = 4;
const UNDER_WAY = 2;

/** A call with a stream of messages in both directions: a message is sent when an earlier one has come back. */
async function call({ options }: Load, session: ClientHttp2Session, entry: Entry): Promise<void> {
  const { fields, deadline } = options;
  const stream = session.request(
    {
      ...{ ':method': 'POST', ':path': TALK, ':authority': 'gateway.test' },
      ...{ 'content-type': 'application/grpc', te: 'trailers' },
      ...(deadline && { 'grpc-timeout': deadline }),
      ...fields,
    },
    { endStream: false },
  );
  const reader = new GrpcReader();
  let [sent, echoed] = [0, 0];
  let isForeign = false;
  const send = () => stream.write(framed(`${entry.target} ${sent++}`));
  stream.on('data', (piece: Buffer) => {
    for (const text of reader.read(piece)) {
      if (text !== echoOf(`${entry.target} ${echoed++}`)) isForeign = true;
      if (sent < MESSAGES) send();
      else if (echoed === MESSAGES) stream.end();
    }
  });
  // A refusal comes before all is sent.
  stream.on('end', () => stream.end());
  for (let i = 0; i < UNDER_WAY; i++) send();
  const response = await unlessSilent(read(stream));
  const status = response?.trailers['grpc-status'] ?? response?.fields['grpc-status'];
  if (response === null) entry.outcome = 'silent';
  else if (isForeign || (status === '0' && echoed < MESSAGES)) entry.outcome = 'foreign';
  else if (status === undefined) entry.outcome = response.status === 0 ? 'broken' : 'cut';
  else entry.outcome = status === '0' ? 'answered' : (grpcStatus[Number(status)] as Outcome);
}

/** Messages over each WebSocket before its client closes it. */
const PER_SOCKET = 20;

/** A client that opens one WebSocket after the other. */
export async function overWebSocket(load: Load): Promise<void> {
  while (!load.isStopped) {
    const headers = load.options.fields ?? {};
    const socket = new WebSocket(`ws://127.0.0.1:${load.nextPort()}${LIVE}`, { headers });
    const waiting: Entry[] = [];
    const end = await unlessSilent(converse(load, socket, waiting));
    for (const entry of waiting) entry.outcome = end ?? 'silent';
    socket.terminate();
    await pause();
  }
}

/** Sends messages, and the next one when an earlier one has come back. Resolves when the WebSocket ends to what became of those that wait. */
function converse(load: Load, socket: WebSocket, waiting: Entry[]): Promise<Outcome> {
  let begun = 0;
  const begin = (): string => {
    const entry = load.begin('message');
    begun++;
    waiting.push(entry);
    return entry.target;
  };
  const first = Array.from({ length: UNDER_WAY }, begin);
  const next = () => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (begun < PER_SOCKET && !load.isStopped) socket.send(begin());
    else if (waiting.length === 0) socket.close();
  };
  socket.on('open', () => {
    for (const text of first) socket.send(text);
  });
  socket.on('message', bytes => {
    const entry = waiting.shift();
    if (entry === undefined) load.account.surplus++;
    else entry.outcome = String(bytes) === echoOf(entry.target) ? 'answered' : 'foreign';
    void pause().then(next);
  });
  socket.on('unexpected-response', (_, response) => {
    let body = '';
    response.on('data', (piece: Buffer) => {
      body += piece;
    });
    response.on('error', () => {});
    response.on('close', () => {
      for (const entry of waiting.splice(0))
        entry.answered(response.statusCode ?? 0, body, response.complete);
      socket.terminate();
    });
  });
  let end: Outcome = 'broken';
  socket.on('error', ({ message }) => {
    if (message.includes('ECONNREFUSED')) end = 'unconnected';
  });
  return new Promise(resolve => socket.on('close', () => resolve(end)));
}
