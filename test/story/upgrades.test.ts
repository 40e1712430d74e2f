import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { header, startUpstream, values } from '../support/wire/index.ts';

const H2C = [
  'Connection: Upgrade, HTTP2-Settings',
  'Upgrade: h2c',
  'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
];

test.each([
  ['HTTP/2', H2C],
  ['two protocols', ['Connection: Upgrade', 'Upgrade: h2c, websocket']],
  ['a protocol that Connection does not name', ['Upgrade: websocket']],
])('a request for an upgrade to %s is an ordinary request', async (_, lines) => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const client = await gateway.connect();
  const response = await client.ask(head('GET /a', ...lines));
  expect(response.status).toBe(200);
  for (const name of ['upgrade', 'connection', 'http2-settings']) {
    expect(
      values(upstream.onlyRequest.fields, name).filter(value => value !== 'keep-alive'),
      name,
    ).toEqual([]);
  }
  // RFC 9110, 7.8: who does not take up the offer answers as if it had not been made.
  expect(header(response, 'connection')).toBe('keep-alive');
  expect((await client.ask(head('GET /b'))).status).toBe(200);
});

test('an upstream that switches anyway gets no tunnel: 502', async () => {
  const upstream = await startUpstream(async exchange => {
    await exchange.send(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    await exchange.gone;
  });
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const client = await gateway.connect();
  await client.send(head('GET /a', ...H2C));
  expect((await client.answer()).status).toBe(502);
  void client.send('tunnelled?');
  expect(client.received.toString()).not.toContain(' 101 ');
  await upstream.onlyRequest.connection.gone;
  expect(upstream.onlyRequest.bodyBytes).toBe(0);
});

test('after an ignored upgrade, bytes of the other protocol get 505', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port });
  for (const pause of [0, 50]) {
    const client = await gateway.connect();
    await client.sendSlowly([head('GET /a', ...H2C), 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], pause);
    expect((await client.answer()).status).toBe(200);
    expect((await client.answer()).status).toBe(505);
    expect(await client.ended()).toBe('close');
  }
  expect(upstream.requests.map(request => request.target)).toEqual(['/a', '/a']);
});
