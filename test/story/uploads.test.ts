import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { Curl, VERSIONS } from '../support/curl.ts';
import { startGateway } from '../support/gateway.ts';
import { connectHttp2, H2C } from '../support/http2-client.ts';
import { startUpstream } from '../support/wire/index.ts';

/** "-" is its standard input, which curl sends in chunks, as it reads it. */
const UPLOAD = ['-H', 'Expect:', '-T', '-'];

describe.each(VERSIONS)('an upload from a pipe, over %s', (_, version) => {
  test('flows piece by piece, each before the next one exists', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen: H2C } });
    const curl = new Curl(version, ...UPLOAD, `http://127.0.0.1:${gateway.port}/upload`);
    let sent = '';
    for (let i = 1; i <= 20; i++) {
      const piece = `piece ${i};`;
      curl.write(piece);
      sent += piece;
      await expect.poll(() => upstream.requests[0]?.body.toString('latin1')).toBe(sent);
    }
    curl.endInput();
    expect(await curl.ended()).toBe(0);
    expect(curl.output).toBe('ok');
    expect(upstream.onlyRequest.framing).toBe('chunked');
  });

  test('may get a response before its end, and continues', async () => {
    const upstream = await startUpstream(async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n');
      await exchange.received();
      await exchange.send('5\r\nended\r\n0\r\n\r\n');
    });
    const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen: H2C } });
    const curl = new Curl(version, ...UPLOAD, `http://127.0.0.1:${gateway.port}/upload`);
    curl.write('some');
    // curl reads again when it has sent something more.
    await expect.poll(() => upstream.requests[0]?.bodyBytes).toBe(4);
    curl.write('more');
    await expect.poll(() => upstream.requests[0]?.bodyBytes).toBe(8);
    curl.endInput();
    expect(await curl.ended()).toBe(0);
    expect(curl.output).toBe('begunended');
  });
});

// curl 7.88 loses a response that a reset follows at once.
test('the rest of an upload that was refused over HTTP/2 is read, and its stream is not reset', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route: { max_body: '10B' },
    config: { listen: H2C },
  });
  const session = connectHttp2(gateway);
  const stream = session.request({ ':method': 'POST', ':path': '/upload', 'content-length': '11' });
  stream.write('12345');
  const [fields] = await once(stream, 'response');
  expect(fields[':status']).toBe(413);
  stream.resume();
  await once(stream, 'end');
  // What the gateway sent before its reply to the PING has come.
  await new Promise(resolve => session.ping(resolve));
  expect(stream.closed).toBe(false);
  stream.end('678901');
  await once(stream, 'close');
  expect(stream.rstCode).toBe(0);
});
