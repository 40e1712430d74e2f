import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { shared } from '../support/lifetime.ts';
import { Random } from '../support/random.ts';
import { head } from '../support/requests.ts';
import { header, type Script, startUpstream, values } from '../support/wire/index.ts';

/** The bytes as the whole of the upstream's response; `close` ends the connection behind them. */
function bytes(text: string, then: 'keep' | 'close' = 'keep'): Script {
  return async exchange => {
    await exchange.received();
    await exchange.send(text);
    if (then === 'close') exchange.connection.end();
  };
}

const started = shared(async () => {
  const upstream = await startUpstream();
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port }) };
});

/** A client of the gateway of all tests here, in front of an upstream that has seen nothing yet. */
async function front(script: Script) {
  const { upstream, gateway } = await started();
  await upstream.renew(script);
  return { upstream, client: await gateway.connect() };
}

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('latin1');

test('a response whose length Connection names ends where it does, and the next follows', async () => {
  const named = 'HTTP/1.1 200 OK\r\nConnection: Content-Length\r\nContent-Length: 5\r\n\r\n';
  const { client } = await front(bytes(`${named}hello`));
  for (let i = 0; i < 2; i++) {
    const response = await client.ask(head('GET /a'));
    expect(response).toMatchObject({ status: 200, complete: true, end: 'framing' });
    expect(response.body.toString()).toBe('hello');
  }
});

describe('a response without a body', () => {
  test('to HEAD has the length that GET would have, and the connection stays open', async () => {
    const { upstream, client } = await front(bytes('HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n'));
    for (let i = 0; i < 2; i++) {
      const response = await client.ask(head('HEAD /a'));
      expect(response).toMatchObject({ status: 200, bodyBytes: 0, complete: true });
      expect(header(response, 'content-length')).toBe('12345');
    }
    expect(upstream.requests).toHaveLength(2);
  });
});

describe('a body', () => {
  const whole = `HTTP/1.1 200 OK\r\nContent-Length: 256\r\n\r\n${ALL_BYTES}`;
  const chunked = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n${ALL_BYTES.slice(0, 128)}\r\n80\r\n${ALL_BYTES.slice(128)}\r\n0\r\n\r\n`;

  test.each([
    ['by length, byte by byte', whole, 1],
    ['in chunks, byte by byte', chunked, 1],
  ])('keeps all 256 byte values: %s', async (_, text, pieceBytes) => {
    const { client } = await front(async exchange => {
      for (let at = 0; at < text.length; at += pieceBytes) {
        await exchange.send(text.slice(at, at + pieceBytes));
        if (pieceBytes < text.length) await new Promise(resolve => setImmediate(resolve));
      }
    });
    for (let i = 0; i < 2; i++) {
      const response = await client.ask(head('GET /a'));
      expect(response).toMatchObject({ status: 200, complete: true, end: 'framing' });
      expect(response.body.toString('latin1')).toBe(ALL_BYTES);
    }
  });

  test('that ends with the upstream connection arrives framed, whole, on a connection that goes on', async () => {
    const { client } = await front(bytes(`HTTP/1.1 200 OK\r\n\r\n${ALL_BYTES}`, 'close'));
    for (let i = 0; i < 2; i++) {
      const response = await client.ask(head('GET /a'));
      expect(response).toMatchObject({ complete: true, end: 'framing' });
      expect(response.body.toString('latin1')).toBe(ALL_BYTES);
    }
  });

  test('of a megabyte of noise arrives as it was sent, by length and in chunks', async () => {
    const noise = new Random(1).bytes(1024 * 1024);
    const { client } = await front(async exchange => {
      if (exchange.request.target === '/length') return await exchange.answer(200, [], noise);
      await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (let at = 0; at < noise.length; at += 65_536) {
        await exchange.send(
          Buffer.concat([Buffer.from('10000\r\n'), noise.subarray(at, at + 65_536), Buffer.from('\r\n')]),
        );
      }
      await exchange.send('0\r\n\r\n');
    });
    for (const target of ['/length', '/chunks']) {
      const response = await client.ask(head(`GET ${target}`));
      expect(response.complete).toBe(true);
      expect(response.body.equals(noise)).toBe(true);
    }
  });

  test('in chunks of which each is signed in an extension arrives whole, however many there are', async () => {
    const { client } = await front(exchange =>
      exchange.send(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${`1;s="${'a'.repeat(200)}"\r\nx\r\n`.repeat(300)}0\r\n\r\n`,
      ),
    );
    const response = await client.ask(head('GET /a'));
    expect(response).toMatchObject({ status: 200, complete: true });
    expect(response.body.toString()).toBe('x'.repeat(300));
  });

  test('is streamed: the client has its first bytes while the upstream still holds the last', async () => {
    let release = (): void => {};
    const released = new Promise<void>(resolve => {
      release = resolve;
    });
    const { client } = await front(async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst');
      await released;
      await exchange.send('after');
    });
    let seen = '';
    const response = client.ask(head('GET /a'), {
      onData(piece) {
        seen += piece.toString();
        if (seen === 'first') release();
      },
    });
    expect((await response).body.toString()).toBe('firstafter');
  });
});

describe('a field', () => {
  // Every byte that a value may hold (RFC 9110, 5.5), blanks not at its ends.
  const value = `!${ALL_BYTES.slice(0x20, 0x7f)}${ALL_BYTES.slice(0x80)}\t!`;

  test.each([
    ['by length', 'Content-Length: 2\r\n\r\nok'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    ['until close', '\r\nok'],
  ])('keeps every byte, whole and split, before a body %s', async (_, rest) => {
    const text = `HTTP/1.1 200 O\xe9\xffK\r\nX-Bytes: ${value}\r\n${rest}`;
    for (const pieceBytes of [text.length, 40, 1]) {
      const { client } = await front(async exchange => {
        for (let at = 0; at < text.length; at += pieceBytes) {
          await exchange.send(text.slice(at, at + pieceBytes));
          if (pieceBytes < text.length) await new Promise(resolve => setImmediate(resolve));
        }
        if (rest.startsWith('\r\n')) exchange.connection.end();
      });
      const response = await client.ask(head('GET /a'));
      expect(response).toMatchObject({ reason: 'O\xe9\xffK', complete: true });
      expect(header(response, 'x-bytes')).toBe(value);
      expect(response.body.toString()).toBe('ok');
    }
  });
});

test('a head of 30 KiB passes', async () => {
  const value = 'x'.repeat(30_000);
  const { client } = await front(exchange => exchange.answer(200, ['X-Long', value], 'ok'));
  expect(header(await client.ask(head('GET /a')), 'x-long')).toBe(value);
});

describe('a status', () => {
  test.each([
    [201, 'Made it'],
    [299, 'Odd \xc3\xa9'],
    [451, 'Unavailable For Legal Reasons'],
    [599, ''],
  ])('passes with its reason: %i %s', async (status, reason) => {
    const { client } = await front(bytes(`HTTP/1.1 ${status} ${reason}\r\nContent-Length: 2\r\n\r\nok`));
    expect(await client.ask(head('GET /a'))).toMatchObject({ status, reason, complete: true });
  });

  test("401 and 403 are the upstream's to give, with their headers", async () => {
    const { client } = await front(exchange =>
      exchange.answer(401, ['WWW-Authenticate', 'Basic realm="x"'], 'no'),
    );
    const response = await client.ask(head('GET /a'));
    expect(response).toMatchObject({ status: 401 });
    expect(header(response, 'www-authenticate')).toBe('Basic realm="x"');
    expect(response.body.toString()).toBe('no');
  });
});

describe('before and behind the body', () => {
  test('103 passes with its fields, several of them in their order', async () => {
    const hints = ['</a.css>; rel=preload', '</b.css>; rel=preload; x="\xe9"'];
    const { client } = await front(
      bytes(
        `${hints.map(hint => `HTTP/1.1 103 Early Hints\r\nLink: ${hint}\r\nX-Test: \xff\r\n\r\n`).join('')}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
      ),
    );
    const response = await client.ask(head('GET /a'));
    expect(response).toMatchObject({ status: 200, complete: true });
    expect(response.interim.map(interim => interim.status)).toEqual([103, 103]);
    expect(response.interim.map(interim => values(interim.fields, 'link'))).toEqual(
      hints.map(hint => [hint]),
    );
    expect(values(response.interim[0]?.fields ?? [], 'x-test')).toEqual(['\xff']);
  });

  test('102 passes at once, long before the response', async () => {
    const { client } = await front(async exchange => {
      await exchange.send('HTTP/1.1 102 Processing\r\n\r\n');
      await exchange.gone;
    });
    await client.send(head('GET /a'));
    await expect.poll(() => client.received.toString()).toMatch(/^HTTP\/1.1 102 /);
    client.reset();
  });

  test('trailers pass down, every byte of them', async () => {
    const { client } = await front(
      bytes(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: a\xe9\r\nx-SUM: b\r\n\r\n',
      ),
    );
    const response = await client.ask(head('GET /a', 'TE: trailers'));
    expect(response).toMatchObject({
      complete: true,
      framing: 'chunked',
      trailers: ['X-Sum', 'a\xe9', 'x-SUM', 'b'],
    });
    expect(header(response, 'trailer')).toBe('X-Sum');
  });

  test('trailers that would change the message or speak for the gateway are dropped', async () => {
    const trailers =
      'Connection: close\r\nSet-Cookie: a=1\r\nX_Request_Id: theirs\r\nX-RateLimit-Limit: 1\r\nX-Sum: a\r\n';
    const { client } = await front(
      bytes(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${trailers}\r\n`),
    );
    expect(await client.ask(head('GET /a'))).toMatchObject({ complete: true, trailers: ['X-Sum', 'a'] });
  });
});
