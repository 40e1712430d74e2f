import { describe, expect, test } from 'vitest';
import { hasExtensions, judgeHandshake, judgeSwitch } from '../../../../src/wire/websocket/handshake.ts';
import { KEY } from '../../../support/raw-web-sockets.ts';

const ASKED = ['Sec-WebSocket-Version', '13', 'sec-websocket-key', KEY, 'Sec-WebSocket-Protocol', 'a, b'];
const ANSWERED = [
  ...['UPGRADE', 'WebSocket', 'Connection', 'keep-alive, upgrade'],
  ...['Sec-WebSocket-Accept', 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='],
];

test('a GET with a version and a key, and without a body, is a handshake', () => {
  expect(judgeHandshake('GET', 0, ASKED)).toBeNull();
});

test.each([
  ['POST', 0, ASKED, { refused: 'a WebSocket begins with a GET' }],
  ['GET', 'chunked', ASKED, { refused: 'a request for a WebSocket has no body' }],
  ['GET', 0, ASKED.slice(2), 'version'],
  ['GET', 0, ASKED.slice(0, 2), { refused: 'Sec-WebSocket-Key is missing or not a key' }],
  ['GET', 0, [...ASKED, 'Sec-WebSocket-Version', '8'], 'version'],
] as const)('%s with a body of %s and %j is none', (method, length, fields, fault) => {
  expect(judgeHandshake(method, length, fields)).toEqual(fault);
});

describe('a 101', () => {
  test('agrees, in any letter case, with the Accept of RFC 6455 for its key', () => {
    expect(judgeSwitch(ASKED, ANSWERED)).toBeNull();
    expect(judgeSwitch(ASKED, [...ANSWERED, 'Sec-WebSocket-Protocol', 'b'])).toBeNull();
  });

  test.each([
    ['names another protocol', [...ANSWERED, 'Upgrade', 'h2c']],
    ['has no Connection: Upgrade', ['Upgrade', 'websocket', ...ANSWERED.slice(4)]],
    ['does not fit the key', [...ANSWERED.slice(0, 4), 'Sec-WebSocket-Accept', 'x']],
    ['does not fit the key', ANSWERED.slice(0, 4)],
    ['a subprotocol that was not offered', [...ANSWERED, 'Sec-WebSocket-Protocol', 'c']],
    [
      'more than one subprotocol',
      [...ANSWERED, ...['Sec-WebSocket-Protocol', 'a'], ...['Sec-WebSocket-Protocol', 'b']],
    ],
    ['an extension that was not offered', [...ANSWERED, 'Sec-WebSocket-Extensions', 'x-own, x-other']],
  ])('that %s does not agree', (why, fields) => {
    expect(judgeSwitch(ASKED, fields)).toContain(why);
  });

  test('may choose an extension that was offered, with parameters of its own', () => {
    const asked = [
      ...ASKED,
      'Sec-WebSocket-Extensions',
      'x-own; a, permessage-deflate; client_max_window_bits',
    ];
    const chosen = 'Permessage-Deflate ; server_no_context_takeover';
    expect(judgeSwitch(asked, [...ANSWERED, 'Sec-WebSocket-Extensions', chosen])).toBeNull();
  });

  test('has extensions where it names one', () => {
    expect(hasExtensions(ANSWERED)).toBe(false);
    expect(hasExtensions(['Sec-WebSocket-Extensions', ' '])).toBe(false);
    expect(hasExtensions(['sec-websocket-extensions', 'permessage-deflate; x=1'])).toBe(true);
  });
});
