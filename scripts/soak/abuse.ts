import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { requestText } from '../../bench/load/connection.ts';
import { type Act, somewhere, type Target } from './clients.ts';

/** Clients as they should not be, with how often each comes. */
export const ABUSE: Readonly<Record<string, { readonly weight: number; readonly act: Act }>> = {
  'random bytes': {
    weight: 1,
    act: target => shout(target, target.random.bytes(1 + target.random.below(3_000))),
  },
  'broken request': { weight: 1, act: brokenRequest },
  'broken HTTP/2': { weight: 1, act: brokenFrames },
  'broken TLS': { weight: 1, act: brokenHandshake },
  'half a head': { weight: 1, act: target => stall(target, 'GET /v1/x HTTP/1.1\r\nHost: soak\r\nX-') },
  'half a body': {
    weight: 1,
    act: target => stall(target, 'POST /v1/x HTTP/1.1\r\nHost: soak\r\nContent-Length: 100000\r\n\r\nabc'),
  },
  'slow reader': { weight: 1, act: slowReader },
  flood: { weight: 0.5, act: target => flood(target, somewhere(target), '/v1/things/flood/x', 150) },
  'restricted address': { weight: 0.5, act: restricted },
  'wrong token': { weight: 1, act: wrongToken },
  'rapid reset': { weight: 0.5, act: rapidReset },
  'leaves early': { weight: 2, act: leaves },
};

async function open(target: Target, localAddress = somewhere(target)): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: target.port, localAddress });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Ends a connection in one of the ways in which connections end. */
function end(socket: Socket, { random }: Target): void {
  if (random.chance(0.4)) socket.resetAndDestroy();
  else socket.destroy();
}

/** Waits until the gateway closes it, at most so long. */
async function closed(socket: Socket, ms: number): Promise<boolean> {
  const gone = once(socket, 'close').then(() => true);
  return Promise.race([gone, sleep(ms, false)]);
}

async function shout(target: Target, bytes: Buffer | string): Promise<string> {
  const socket = await open(target);
  socket.resume();
  socket.write(bytes);
  const isClosed = await closed(socket, 500);
  end(socket, target);
  return isClosed ? 'closed' : 'left';
}

/** A good request with a byte changed, or cut off. */
function brokenRequest(target: Target): Promise<string> {
  const { random } = target;
  const text = `POST /v1/x HTTP/1.1\r\nHost: soak\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;
  const bytes = Buffer.from(text);
  bytes[random.below(bytes.length)] = random.below(256);
  return shout(target, bytes.subarray(0, random.chance(0.3) ? random.below(bytes.length) : bytes.length));
}

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

function brokenFrames(target: Target): Promise<string> {
  const { random } = target;
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const length = random.below(200);
  const head = Buffer.from([0, 0, length, random.below(11), random.below(256), 0, 0, 0, random.below(4)]);
  return shout(target, Buffer.concat([Buffer.from(PREFACE), settings, head, random.bytes(length)]));
}

/** Bytes that are no handshake, or a handshake that is given up. */
async function brokenHandshake(target: Target): Promise<string> {
  const { random, tlsPort } = target;
  const socket = random.chance(0.5)
    ? connect(tlsPort, '127.0.0.1')
    : connectTls({ host: '127.0.0.1', port: tlsPort, servername: 'localhost', rejectUnauthorized: true });
  socket.on('error', () => {});
  await Promise.race([once(socket, 'connect'), sleep(500)]);
  socket.write(random.bytes(200));
  await closed(socket, random.below(1_000));
  end(socket, target);
  return 'left';
}

/** Sends a part, and then nothing. */
async function stall(target: Target, part: string): Promise<string> {
  const socket = await open(target);
  socket.resume();
  socket.write(part);
  const isClosed = await closed(socket, 500 + target.random.below(4_000));
  end(socket, target);
  return isClosed ? 'closed' : 'left';
}

/** Asks for much and reads none of it. */
async function slowReader(target: Target): Promise<string> {
  const socket = await open(target);
  socket.pause();
  socket.write(requestText('/v1/bytes/5000000', {}));
  await sleep(500 + target.random.below(4_500));
  end(socket, target);
  return 'left';
}

/** Many requests on one connection whose responses nobody waits for. */
async function flood(target: Target, from: string, path: string, count: number): Promise<string> {
  const socket = await open(target, from);
  socket.resume();
  socket.write(requestText(path, {}).repeat(count));
  const isClosed = await closed(socket, 500);
  end(socket, target);
  return isClosed ? 'closed' : 'left';
}

/** More invalid requests than an address may send. */
function restricted(target: Target): Promise<string> {
  return flood(target, `127.0.1.${1 + target.random.below(5)}`, '/mine', 150);
}

/** A good token with another signature, or no token at all. */
async function wrongToken(target: Target): Promise<string> {
  const [header, payload] = (target.tokens.at(-1) ?? 'a.b.c').split('.');
  const signature = target.random.bytes(256).toString('base64url');
  const socket = await open(target);
  const token = target.random.chance(0.7) ? `${header}.${payload}.${signature}` : signature;
  socket.write(requestText('/mine', { Authorization: `Bearer ${token}`, Connection: 'close' }));
  const [bytes] = await Promise.race([once(socket, 'data'), sleep(2_000, [''])]);
  end(socket, target);
  return String(bytes).slice(9, 12);
}

/** Opens streams and cancels them at once (CVE-2023-44487). */
async function rapidReset({ port }: Target): Promise<string> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  await Promise.race([once(session, 'connect'), sleep(1_000)]);
  for (let i = 0; i < 80 && !session.destroyed; i++) {
    const stream = session.request({ ':path': '/v1/bytes/1000' });
    stream.on('error', () => {});
    stream.close(8);
  }
  await sleep(300);
  session.destroy();
  return 'left';
}

/** Leaves before the response is there, or in the middle of it or of a body. */
async function leaves(target: Target): Promise<string> {
  const { random } = target;
  const socket = await open(target);
  socket.resume();
  if (random.chance(0.5)) socket.write(requestText('/v1/bytes/2000000', {}));
  else socket.write(`POST /v1/x HTTP/1.1\r\nHost: soak\r\nContent-Length: 90000\r\n\r\n${'-'.repeat(9_000)}`);
  await sleep(random.below(30));
  end(socket, target);
  return 'left';
}
