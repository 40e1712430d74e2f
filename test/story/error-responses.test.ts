import { describe, expect, test } from 'vitest';
import { expectError, expectRejected } from '../support/error-object.ts';
import { freePort } from '../support/free-port.ts';
import { startGateway } from '../support/gateway.ts';
import { shared } from '../support/lifetime.ts';
import { head } from '../support/requests.ts';
import { header, values } from '../support/wire/index.ts';

const started = shared(async () =>
  startGateway({ upstreamPort: await freePort(), route: { path: '/known' } }),
);

/** A word that a client sends, to be looked for in what it gets. */
const WORD = 'Xyzzy';

describe('an error of the gateway is the error object, in one form for all', () => {
  test.each([
    ['an invalid target', 400, 3, 'close', head(`GET /${WORD}/../a`)],
    ['an invalid Host', 400, 3, 'close', `GET /a HTTP/1.1\r\nHost: ${WORD}/\r\n\r\n`],
    ['bytes that are no request', 400, 3, 'close', `${WORD}\r\n\r\n`],
    ['a line that ends in LF', 400, 3, 'close', `GET /${WORD} HTTP/1.1\nHost: a\n\n`],
    ['a version that there is not', 505, 3, 'close', `GET /${WORD} HTTP/1.2\r\nHost: a\r\n\r\n`],
    ['TRACE', 405, 3, 'close', head('TRACE /a', `X: ${WORD}`)],
    ['CONNECT', 405, 3, 'close', head(`CONNECT ${WORD}:80`)],
    ['an expectation', 417, 3, 'close', head('GET /a', `Expect: ${WORD}`)],
    ['a large head', 431, 3, 'close', head('GET /a', `X: ${WORD.repeat(10_000)}`)],
    ['too many fields', 431, 3, 'close', head('GET /a', ...Array(500).fill(`X: ${WORD}`))],
    ['no route', 404, 5, undefined, head(`GET /${WORD}`)],
    ['an unreachable upstream', 502, 14, undefined, head('GET /known', `X: ${WORD}`)],
  ])('%s: %i, code %i', async (_, status, code, connection, bytes) => {
    const gateway = await started();
    const client = await gateway.connect();
    await client.send(bytes);
    if (connection === 'close') await expectRejected(client, status, code);
    else {
      expectError(await client.answer(), status, code);
      // The connection is good for another request.
      expectError(await client.ask(head('GET /nowhere')), 404, 5);
    }
    expect(client.received.toString()).not.toContain(WORD);
  });

  test('the response to HEAD is the same without its body', async () => {
    const gateway = await started();
    const client = await gateway.connect();
    const toGet = await client.ask(head('GET /nowhere'));
    const toHead = await client.ask(head('HEAD /nowhere'));
    expect(toHead).toMatchObject({ status: 404, bodyBytes: 0, complete: true });
    for (const name of ['content-type', 'content-length', 'via']) {
      expect(values(toHead.fields, name), name).toEqual(values(toGet.fields, name));
    }
    expect((await client.ask(head('GET /nowhere'))).status).toBe(404);
  });

  test('each has its own id, which is also in the log', async () => {
    const gateway = await startGateway({
      upstreamPort: await freePort(),
      config: { log: { level: 'info', access: true } },
    });
    const ids = [];
    for (const bytes of [head('GET /a'), head('GET //'), 'nonsense\r\n\r\n']) {
      const client = await gateway.connect();
      ids.push(header(await client.ask(bytes), 'x-request-id') ?? '');
    }
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(gateway.logLines.join('')).toContain(id);
  });
});
