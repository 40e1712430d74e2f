import { describe, expect, test } from 'vitest';
import {
  authenticatesConnection,
  challengesConnection,
  withoutConnectionChallenges,
} from '../../../../src/wire/http1/index.ts';

describe('a challenge asks the client to authenticate its connection', () => {
  test.each([
    ['WWW-Authenticate', 'NTLM', true],
    ['www-authenticate', 'negotiate', true],
    ['WWW-Authenticate', 'NTLM TlRMTVNTUAACAAAA==', true],
    ['WWW-Authenticate', 'Basic realm="a, NTLM", Negotiate', true],
    ['WWW-Authenticate', 'Digest realm="a\\", b", nonce="c" , NTLM', true],
    ['Proxy-Authenticate', 'Negotiate', true],
    ['WWW-Authenticate', 'Basic realm="NTLM"', false],
    ['WWW-Authenticate', 'Basic realm="a, NTLM"', false],
    ['WWW-Authenticate', 'Digest ntlm=a, negotiate = b', false],
    ['WWW-Authenticate', 'NTLMv9', false],
    ['WWW-Authenticate', '', false],
    ['X-Authenticate', 'NTLM', false],
  ])('%s: %s (%s)', (name, value, expected) => {
    expect(challengesConnection(['Date', 'x', name, value])).toBe(expected);
  });
});

test.each([
  ['NTLM', null],
  ['Negotiate, NTLM', null],
  [
    'Basic realm="a, b", NTLM, Digest realm="c", nonce="d"',
    'Basic realm="a, b", Digest realm="c", nonce="d"',
  ],
  ['NTLM TlRM==, Bearer', 'Bearer'],
])('without the schemes of connections, %s is %s', (value, left) => {
  const fields = withoutConnectionChallenges(['A', 'b', 'WWW-Authenticate', value]);
  expect(fields).toEqual(left === null ? null : ['A', 'b', 'WWW-Authenticate', left]);
});

test('a challenge in another line is left', () => {
  const fields = ['WWW-Authenticate', 'NTLM', 'A', 'b', 'WWW-Authenticate', 'Basic realm="a"'];
  expect(withoutConnectionChallenges(fields)).toEqual(['A', 'b', 'WWW-Authenticate', 'Basic realm="a"']);
});

test('an Authorization may authenticate the connection by its scheme', () => {
  for (const value of ['NTLM abc', 'negotiate abc', 'Negotiate'])
    expect(authenticatesConnection(value)).toBe(true);
  for (const value of [null, 'Bearer NTLM', 'NTLMv9 abc', ''])
    expect(authenticatesConnection(value)).toBe(false);
});
