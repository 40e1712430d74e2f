import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';

/** So many connections are begun at a time: enough to keep a gateway busy. */
const AT_A_TIME = 16;

/**
 * Opens TLS connections for so many seconds, each closed once its handshake is done; returns how many there were.
 *
 * @param session of an earlier connection, which every handshake resumes; null: each is a full one
 */
export async function handshakes(port: number, seconds: number, session: Buffer | null): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  let count = 0;
  const one = async () => {
    while (performance.now() < end) {
      const socket = await openTls(port, session);
      if (socket.isSessionReused() !== (session !== null))
        throw new Error('not the kind of handshake that was asked for');
      const closed = once(socket, 'close');
      socket.end();
      socket.resume();
      await closed;
      count++;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, one));
  return count;
}

/** A session that further connections may resume. */
export async function sessionOf(port: number): Promise<Buffer> {
  const socket = await openTls(port, null);
  // With TLS 1.3 it comes with the first bytes of the server.
  const session = once(socket, 'session');
  socket.on('data', () => {});
  socket.write('GET /session HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n');
  const [ticket] = (await session) as [Buffer];
  socket.destroy();
  return ticket;
}

/** A connection whose handshake is done. */
export async function openTls(port: number, session: Buffer | null): Promise<TLSSocket> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    servername: 'localhost',
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    ...(session === null ? {} : { session }),
  });
  await once(socket, 'secureConnect');
  socket.on('error', () => {});
  return socket;
}
