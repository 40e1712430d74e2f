import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { fetchKeySet, KeySetError } from '../../src/auth/index.ts';

let server: Server;
let requests: string[];

async function serve(listener: RequestListener): Promise<string> {
  requests = [];
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    listener(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/certs`;
}

const get = (url: string, signal = AbortSignal.timeout(5_000)) =>
  fetchKeySet(url, { signal, maxBytes: 1_000 });

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

describe('the fetch of a key set', () => {
  it('brings the body of a 200', async () => {
    const url = await serve((_, response) => response.end('{"keys":[]}'));
    expect(Buffer.from(await get(url)).toString()).toBe('{"keys":[]}');
    expect(requests).toEqual(['GET /certs']);
  });

  it('follows no redirect', async () => {
    const url = await serve((_, response) => response.writeHead(302, { location: '/elsewhere' }).end());
    await expect(get(url)).rejects.toThrow(
      new KeySetError('the issuer answered 302 to the fetch of its keys'),
    );
    expect(requests).toEqual(['GET /certs']);
  });

  it.each([204, 404, 500, 503])('fails on a %i', async status => {
    const url = await serve((_, response) => response.writeHead(status).end());
    await expect(get(url)).rejects.toThrow(KeySetError);
  });

  it('takes as many bytes as it may and not one more', async () => {
    let length = 1_000;
    const url = await serve((_, response) => response.end('x'.repeat(length)));
    expect(await get(url)).toHaveLength(1_000);
    length = 1_001;
    await expect(get(url)).rejects.toThrow('larger than 1000 bytes');
  });

  it('stops reading a body that never ends, and closes its connection', async () => {
    let closed: Promise<unknown> | undefined;
    const url = await serve((_, response) => {
      const timer = setInterval(() => response.write('x'.repeat(400)), 5);
      closed = once(response, 'close').then(() => clearInterval(timer));
    });
    await expect(get(url)).rejects.toThrow('larger than 1000 bytes');
    await closed;
  });

  it('counts a compressed body by what it unpacks to', async () => {
    const bomb = gzipSync('x'.repeat(10_000_000));
    const url = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    await expect(get(url)).rejects.toThrow('larger than 1000 bytes');
  });

  it('ends with its signal before the answer', async () => {
    const url = await serve(() => {});
    await expect(get(url, AbortSignal.timeout(50))).rejects.toThrow(/timeout/);
  });

  it('ends with its signal amid the answer', async () => {
    const url = await serve((_, response) => response.write('{"keys":'));
    await expect(get(url, AbortSignal.timeout(50))).rejects.toThrow(/timeout/);
  });

  it('fails when nobody answers', async () => {
    const url = await serve(() => {});
    server.close();
    await expect(get(url)).rejects.toThrow('fetch failed');
  });
});
