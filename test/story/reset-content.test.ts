import { expect, test } from 'vitest';
import { data, FLAG, type FrameScript, headers, startFrameUpstream } from '../support/frame-upstream.ts';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { head } from '../support/requests.ts';
import { header, startUpstream } from '../support/wire/index.ts';

/** What clients of HTTP/1.1 and HTTP/2 get of a 205, and of what comes behind it on the same connection. */
async function answersOf(upstreamPort: number, api: ConfigPart = {}) {
  const gateway = await startGateway({ upstreamPort, api, config: { listen: H2C } });
  const client = await gateway.connect();
  const session = connectHttp2(gateway);
  for (let i = 0; i < 2; i++) {
    const one = await client.ask(head('GET /a'));
    expect(one).toMatchObject({ status: 205, framing: 0, bodyBytes: 0, complete: true });
    expect(header(one, 'x-one')).toBe('1');
    const two = await ask(session, { ':path': '/a' });
    expect(two).toMatchObject({ status: 205, fields: { 'content-length': '0', 'x-one': '1' }, rstCode: 0 });
    expect(two.body).toHaveLength(0);
  }
}

const RESET = 'HTTP/1.1 205 Reset Content\r\nX-One: 1\r\n';

test.each([
  ['no body', [`${RESET}Content-Length: 0\r\n\r\n`]],
  ['a body', [`${RESET}Content-Length: 5\r\n\r\nhello`]],
  ['a body that comes later', [`${RESET}Content-Length: 5\r\n\r\n`, 'hello']],
  ['a body that does not end', [`${RESET}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`]],
  ['a body that ends with the connection', [`${RESET}\r\nhello`]],
])('a 205 with %s from an HTTP/1.1 upstream is empty', async (_, parts) => {
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    for (const part of parts) {
      await exchange.send(part);
      await new Promise(setImmediate);
    }
  });
  await answersOf(upstream.port);
});

const fields = { ':status': '205', 'x-one': '1' };

test.each<[string, NonNullable<FrameScript['stream']>]>([
  ['a body', (peer, id) => peer.send(headers(id, fields), data(id, 'hello', FLAG.endStream))],
  ['a body that does not end', (peer, id) => peer.send(headers(id, fields), data(id, 'hello'))],
  [
    'a body of a stated length',
    (peer, id) =>
      peer.send(headers(id, { ...fields, 'content-length': '5' }), data(id, 'hello', FLAG.endStream)),
  ],
  [
    'a body whose length comes late',
    (peer, id) => peer.send(headers(id, { ...fields, 'content-length': '50' }), data(id, 'hello')),
  ],
])('a 205 with %s from an HTTP/2 upstream is empty', async (_, stream) => {
  const upstream = await startFrameUpstream({ stream });
  await answersOf(upstream.port, { protocol: 'h2' });
});
