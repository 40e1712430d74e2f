import { constants } from 'node:http2';
import { expect, test } from 'vitest';
import { type SessionFate, streamFailure } from '../../../../src/upstream/http2/stream-failure.ts';

const LIVE: SessionFate = { broken: null, closedUnawares: false, lastStreamId: 2 ** 31 - 1 };
const lost = new Error('lost');

/** What becomes of a stream that closed with this code on such a connection. */
function failureOf(
  code: number,
  fate: Partial<SessionFate> = {},
  id: number | undefined = 5,
  error: Error | null = null,
) {
  return streamFailure({ id, rstCode: code } as never, { ...LIVE, ...fate }, error);
}

test('a request that the upstream did not process is refused, whatever its method', () => {
  const refused = { kind: 'refused', onReusedConnection: false, resetCode: null };
  expect(failureOf(constants.NGHTTP2_REFUSED_STREAM)).toMatchObject(refused);
  expect(failureOf(0, { lastStreamId: 3 })).toMatchObject(refused);
  expect(streamFailure({ id: undefined, rstCode: 0 } as never, LIVE, null)).toMatchObject(refused);
  expect(failureOf(0, { lastStreamId: 5 })).toMatchObject({ kind: 'reset' });
});

test.each([
  ['PROTOCOL_ERROR', constants.NGHTTP2_PROTOCOL_ERROR],
  ['FLOW_CONTROL_ERROR', constants.NGHTTP2_FLOW_CONTROL_ERROR],
  ['FRAME_SIZE_ERROR', constants.NGHTTP2_FRAME_SIZE_ERROR],
  ['COMPRESSION_ERROR', constants.NGHTTP2_COMPRESSION_ERROR],
  ['ENHANCE_YOUR_CALM', constants.NGHTTP2_ENHANCE_YOUR_CALM],
  ['HTTP_1_1_REQUIRED', constants.NGHTTP2_HTTP_1_1_REQUIRED],
])('a reset with %s says that somebody broke the rules', (_, code) => {
  expect(failureOf(code)).toMatchObject({ kind: 'malformed', resetCode: code });
});

test('any other reset is one, with its code', () => {
  const failure = failureOf(constants.NGHTTP2_CANCEL);
  expect(failure).toMatchObject({ kind: 'reset', resetCode: constants.NGHTTP2_CANCEL });
  expect(failure.cause).toMatchObject({ message: 'the upstream closed the stream with code 8' });
  expect(failureOf(constants.NGHTTP2_CANCEL, {}, 5, lost).cause).toBe(lost);
});

test('a lost connection names its own cause, and no code of the stream', () => {
  const failure = failureOf(constants.NGHTTP2_PROTOCOL_ERROR, { broken: lost });
  expect(failure).toEqual({ kind: 'reset', cause: lost, onReusedConnection: false, resetCode: null });
  expect(failureOf(0, { broken: lost, closedUnawares: true }).onReusedConnection).toBe(true);
});

test('a connection on which Node found invalid frames is malformed', () => {
  const broken = Object.assign(new Error('invalid'), { code: 'ERR_HTTP2_ERROR' });
  expect(failureOf(0, { broken, closedUnawares: true })).toMatchObject({
    kind: 'malformed',
    onReusedConnection: false,
    resetCode: null,
  });
});
