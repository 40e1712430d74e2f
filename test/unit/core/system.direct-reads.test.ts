import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readDirectly } from '../../../src/core/index.ts';

/** What Node.js keeps of a paused socket before it stops to read. */
const MANY_BYTES = 4 * 1024 * 1024;

describe('reading a socket directly', () => {
  const open: { destroy(): void }[] = [];
  afterEach(() => {
    for (const one of open.splice(0)) one.destroy();
  });

  it('hands over what comes without an event', async () => {
    const { client, server } = await pair();
    const taken: string[] = [];
    readDirectly(server, piece => taken.push(piece.toString()));
    const heard = vi.fn();
    server.on('data', heard);
    client.write('one');
    await vi.waitFor(() => expect(taken.join('')).toBe('one'));
    expect(heard).not.toHaveBeenCalled();
  });

  it('hands over every byte in order across pauses, and the end', async () => {
    const { client, server } = await pair();
    const bytes = Buffer.from(Uint8Array.from({ length: MANY_BYTES }, (_, i) => i % 251));
    const taken: Buffer[] = [];
    readDirectly(server, piece => {
      taken.push(Buffer.from(piece));
      server.pause();
      setImmediate(() => server.resume());
    });
    const ended = new Promise(resolve => server.once('end', resolve));
    client.end(bytes);
    await ended;
    expect(Buffer.concat(taken).equals(bytes)).toBe(true);
  });

  it('hands over what was put back before what comes after', async () => {
    const { client, server } = await pair();
    const taken: string[] = [];
    readDirectly(server, piece => taken.push(piece.toString()));
    server.pause();
    server.unshift(Buffer.from('first '));
    server.resume();
    client.write('second');
    await vi.waitFor(() => expect(taken.join('')).toBe('first second'));
  });

  it('leaves further bytes to the stream once it is ended', async () => {
    const { client, server } = await pair();
    const taken = vi.fn();
    const end = readDirectly(server, taken);
    end();
    const heard = new Promise(resolve => server.once('data', piece => resolve(piece.toString())));
    client.write('later');
    expect(await heard).toBe('later');
    expect(taken).not.toHaveBeenCalled();
  });

  async function pair(): Promise<{ client: Socket; server: Socket }> {
    const listener = createServer({ allowHalfOpen: true });
    const accepted = new Promise<Socket>(resolve => listener.once('connection', resolve));
    await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve));
    const address = listener.address();
    if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
    const client = connect(address.port, '127.0.0.1');
    const server = await accepted;
    listener.close();
    open.push(client, server);
    return { client, server };
  }
});
