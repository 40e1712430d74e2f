import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { thisMachine } from '../../../../src/core/index.ts';
import { kernelName, readKernelQueues } from '../../../../src/edge/server/kernel-queues.ts';

const named = (remoteAddress: string, remotePort: number) =>
  kernelName({ remoteAddress, remotePort } as Socket);

test('names are those of the tables: words in the order of memory', () => {
  expect(named('127.0.0.1', 54_940)).toBe('0100007F:D69C');
  expect(named('::1', 443)).toBe('00000000000000000000000001000000:01BB');
  expect(named('::ffff:192.0.2.7', 80)).toBe('0000000000000000FFFF0000070200C0:0050');
  expect(named('2001:db8::7', 1)).toBe('B80D0120000000000000000007000000:0001');
  expect(named('fe80::1%eth0', 1)).toBe('000080FE000000000000000001000000:0001');
});

/** A connection whose client does not read what fills it. */
async function unread(host: string): Promise<{ server: Socket; client: Socket }> {
  const listener = createServer({ allowHalfOpen: true });
  listener.listen(0, host);
  await once(listener, 'listening');
  const client = connect({ host, port: (listener.address() as AddressInfo).port });
  const [server] = (await once(listener, 'connection')) as [Socket];
  onTestFinished(() => {
    client.destroy();
    server.destroy();
    listener.close();
  });
  client.pause();
  while (server.writableLength === 0) {
    server.write(Buffer.alloc(1_048_576));
    await new Promise(resolve => setImmediate(resolve));
  }
  return { server, client };
}

async function queues(): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  expect(await readKernelQueues(thisMachine.files, (name, bytes) => found.set(name, bytes))).toBe(true);
  return found;
}

test.runIf(process.platform === 'linux').each(['127.0.0.1', '::1'])(
  'what a client at %s does not read waits in the kernel, until it does',
  async host => {
    const { server, client } = await unread(host);
    const name = kernelName(server);
    expect((await queues()).get(name)).toBeGreaterThan(65_536);
    client.resume();
    await expect.poll(async () => (await queues()).get(name) ?? 0, { timeout: 30_000 }).toBe(0);
    expect(server.writableLength).toBe(0);
  },
);

test('a system without such tables says so', async () => {
  const files = { ...thisMachine.files, open: () => Promise.reject(new Error('ENOENT')) };
  expect(await readKernelQueues(files, () => {})).toBe(false);
});
