import { expect, test } from 'vitest';
import { CloseCode, closeFrame } from '../../../../src/wire/websocket/handshake.ts';

test('a Close frame for a client has its code and reason in clear', () => {
  expect(closeFrame(CloseCode.goingAway, 'idle', null)).toEqual(
    Buffer.from([0x88, 6, 0x03, 0xe9, ...Buffer.from('idle')]),
  );
});

test('a Close frame for a server is masked', () => {
  const mask = Buffer.of(1, 2, 3, 4);
  expect(closeFrame(CloseCode.policyViolation, 'no', mask)).toEqual(
    Buffer.from([0x88, 0x84, 1, 2, 3, 4, 0x03 ^ 1, 0xf0 ^ 2, 0x6e ^ 3, 0x6f ^ 4]),
  );
});
