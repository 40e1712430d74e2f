import { type Agent, request as askHttp, type RequestOptions } from 'node:http';
import { type ClientHttp2Stream, connect } from 'node:http2';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { WebSocket } from 'ws';
import { grpcMessage } from '../../bench/load/grpc.ts';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { BOT_CLIENT, PEOPLE } from '../../src/cli/demo/provider/index.ts';
import type { Random } from '../../test/support/random.ts';

/** No client waits longer: what is under way when a rest begins ends by then. */
export const PATIENCE_MS = 6_000;

/** Where clients go, and what they have. */
export interface Target {
  readonly port: number;
  readonly tlsPort: number;
  /** The provider. */
  readonly issuer: string;
  readonly redirectUri: string;
  /** PEM, of the authority that issued the gateway's certificate. */
  readonly authority: string;
  readonly random: Random;
  /** Access tokens that clients got, the latest last. */
  readonly tokens: string[];
  /** Keeps connections of HTTP/1.1 between requests. */
  readonly agent: Agent;
}

/** What a client does once. Resolves to how it ended: a status, or a word. Rejects where the gateway or a fault broke it off. */
export type Act = (target: Target) => Promise<string>;

/** Clients as they should be, with how often each comes. */
export const CLIENTS: Readonly<Record<string, { readonly weight: number; readonly act: Act }>> = {
  'HTTP/1.1 GET': {
    weight: 8,
    act: target => ask(target, { path: `/v1/things/${target.random.below(50)}/x` }),
  },
  'HTTP/1.1 with a token': { weight: 4, act: target => ask(target, { path: '/mine', ...bearer(target) }) },
  'HTTP/1.1 download': { weight: 2, act: target => ask(target, { path: '/v1/chunked/300000' }) },
  'HTTP/1.1 upload': { weight: 2, act: upload },
  'HTTP/2': { weight: 3, act: streams },
  'HTTP/2 to HTTP/2': { weight: 1, act: target => ask(target, { path: '/h2/x' }) },
  'gRPC unary': { weight: 2, act: unary },
  'gRPC stream': { weight: 1, act: talk },
  'gRPC-Web': { weight: 2, act: web },
  WebSocket: { weight: 2, act: webSocket },
  'sign-in': { weight: 0.3, act: signIn },
  bot: { weight: 0.3, act: bot },
};

/** An address of this machine: limits count by it. */
export function somewhere({ random }: Target): string {
  return `127.0.0.${2 + random.below(50)}`;
}

function bearer({ tokens, random }: Target) {
  return tokens.length === 0 ? {} : { headers: { Authorization: `Bearer ${random.pick(tokens)}` } };
}

function ask(target: Target, options: RequestOptions, body?: Buffer): Promise<string> {
  const { port, agent } = target;
  return new Promise((resolve, reject) => {
    const asked = { host: '127.0.0.1', port, agent, localAddress: somewhere(target), ...options };
    const request = askHttp({ ...asked, signal: AbortSignal.timeout(PATIENCE_MS) }, response => {
      response.resume();
      response.on('end', () => resolve(String(response.statusCode)));
      response.on('close', () => reject(new Error('cut off')));
    });
    request.on('error', reject);
    request.end(body);
  });
}

function upload(target: Target): Promise<string> {
  const headers = target.random.chance(0.5) ? { 'Transfer-Encoding': 'chunked' } : {};
  return ask(target, { method: 'POST', path: '/h2/up', headers }, Buffer.alloc(target.random.below(300_000)));
}

/** Some streams on one connection, some of which are cancelled. */
async function streams(target: Target): Promise<string> {
  const session = connect(`http://127.0.0.1:${target.port}`);
  session.on('error', () => {});
  const patience = setTimeout(() => session.destroy(), PATIENCE_MS);
  try {
    const paths = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? '/v1/bytes/20000' : '/h2/x'));
    const opened = paths.map(path => session.request({ ':path': path }));
    const results = opened.map(statusOf);
    if (target.random.chance(0.3)) opened[3]?.close(8);
    const statuses = await Promise.allSettled(results);
    const bad = statuses.find(({ status }, i) => status === 'rejected' && i !== 3);
    if (bad?.status === 'rejected') throw bad.reason;
    return statuses[0]?.status === 'fulfilled' ? statuses[0].value : 'cancelled';
  } finally {
    clearTimeout(patience);
    session.destroy();
  }
}

function statusOf(stream: ClientHttp2Stream): Promise<string> {
  return new Promise((resolve, reject) => {
    let status = 'no head';
    stream.on('response', head => {
      status = String(head[':status']);
    });
    stream.resume();
    stream.on('error', reject);
    stream.on('end', () => resolve(status));
    stream.on('close', () => reject(new Error('cut off')));
  });
}

function grpcClient({ tlsPort, authority }: Target): Client {
  const secured = credentials.createSsl(Buffer.from(authority));
  return new Client(`localhost:${tlsPort}`, secured, { 'grpc.use_local_subchannel_pool': 1 });
}

const same = (bytes: Buffer) => bytes;

async function unary(target: Target): Promise<string> {
  const client = grpcClient(target);
  const deadline = Date.now() + PATIENCE_MS;
  try {
    return await new Promise((resolve, reject) => {
      const message = Buffer.alloc(target.random.below(20_000));
      client.makeUnaryRequest('/soak.Echo/Unary', same, same, message, new Metadata(), { deadline }, error =>
        error === null ? resolve('OK') : reject(error),
      );
    });
  } finally {
    client.close();
  }
}

/** A call with messages both ways. Some are cancelled, as when a user leaves. */
async function talk(target: Target): Promise<string> {
  const client = grpcClient(target);
  const call = client.makeBidiStreamRequest('/soak.Echo/Talk', same, same, new Metadata(), {
    deadline: Date.now() + PATIENCE_MS,
  });
  const messages = 5 + target.random.below(20);
  const leaves = target.random.chance(0.2);
  let received = 0;
  try {
    return await new Promise((resolve, reject) => {
      call.on('error', error => (leaves ? resolve('cancelled') : reject(error)));
      call.on('status', ({ code }) => resolve(code === 0 ? 'OK' : String(code)));
      call.on('data', () => {
        received += 1;
        if (leaves && received === 3) call.cancel();
        else if (received < messages) call.write(Buffer.alloc(500));
        else call.end();
      });
      call.write(Buffer.alloc(500));
    });
  } finally {
    client.close();
  }
}

function web(target: Target): Promise<string> {
  const headers = { 'Content-Type': 'application/grpc-web+proto', 'X-Grpc-Web': '1' };
  return ask(target, { method: 'POST', path: '/soak.Echo/Unary', headers }, grpcMessage(300));
}

/** Some messages both ways, and an end with or without a farewell. */
function webSocket(target: Target): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${target.port}/live`, { handshakeTimeout: PATIENCE_MS });
    const patience = setTimeout(() => socket.terminate(), PATIENCE_MS);
    const messages = 3 + target.random.below(20);
    const leaves = target.random.chance(0.3);
    let received = 0;
    socket.on('open', () => socket.send('-'.repeat(1_000)));
    socket.on('message', () => {
      received += 1;
      if (received < messages) socket.send('-'.repeat(1_000));
      else if (leaves) socket.terminate();
      else socket.close();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      clearTimeout(patience);
      if (received >= messages) resolve('closed');
      else reject(new Error('cut off'));
    });
  });
}

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Signs a person in as a browser would, renews the tokens, calls, and signs out half of the time. */
async function signIn(target: Target): Promise<string> {
  const person = target.random.pick(PEOPLE);
  const { url } = await json<{ url: string }>(target, 'GET', '/v1/anonymous/authorize-url');
  const { redirectUri } = target;
  const { code } = await walkLogin(url, redirectUri, person.username, person.password);
  const first = await json<Tokens>(target, 'POST', '/v1/anonymous/auth', { code, redirectUri });
  const { refreshToken } = first;
  const { accessToken, ...renewed } = await json<Tokens>(target, 'POST', '/v1/refresh', { refreshToken });
  keep(target, accessToken);
  const headers = { Authorization: `Bearer ${accessToken}` };
  const status = await ask(target, { path: '/mine', headers });
  if (target.random.chance(0.5))
    await json(target, 'POST', '/v1/sign-out', { refreshToken: renewed.refreshToken }, headers);
  return status;
}

/** A bot gets a token from the provider and calls. */
async function bot(target: Target): Promise<string> {
  const response = await fetch(`${target.issuer}/protocol/openid-connect/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa(`${BOT_CLIENT.id}:${BOT_CLIENT.secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const { access_token: token } = Object(await response.json());
  keep(target, token);
  return ask(target, { path: '/mine', headers: { Authorization: `Bearer ${token}` } });
}

function keep({ tokens }: Target, token: string): void {
  tokens.push(token);
  if (tokens.length > 20) tokens.shift();
}

async function json<Answer>(
  { port }: Target,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...{ method, signal: AbortSignal.timeout(PATIENCE_MS) },
    headers: { Connection: 'close', 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return JSON.parse(text || 'null');
}
