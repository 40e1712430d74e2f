import { expect, test } from 'vitest';
import { type SessionFate, streamFailure } from '../../../src/upstream/stream-response.ts';
import { ErrorCode, Http2Fault } from '../../../src/wire/http2/index.ts';

const LIVE: SessionFate = { broken: null, closedWhileIdle: false };
const lost = new Error('lost');

const resetBy = (code: number) => streamFailure({ how: 'reset', code }, LIVE);

test('a request that the upstream did not process is refused, whatever its method', () => {
  const refused = { kind: 'refused', onReusedConnection: false, resetCode: null };
  expect(resetBy(ErrorCode.REFUSED_STREAM)).toMatchObject(refused);
  const departure = { message: 'the upstream closes the connection with ENHANCE_YOUR_CALM' };
  expect(streamFailure({ how: 'unprocessed', code: 11 }, LIVE)).toMatchObject({
    ...refused,
    cause: departure,
  });
});

test.each([
  ['PROTOCOL_ERROR', ErrorCode.PROTOCOL_ERROR],
  ['FLOW_CONTROL_ERROR', ErrorCode.FLOW_CONTROL_ERROR],
  ['FRAME_SIZE_ERROR', ErrorCode.FRAME_SIZE_ERROR],
  ['COMPRESSION_ERROR', ErrorCode.COMPRESSION_ERROR],
  ['ENHANCE_YOUR_CALM', ErrorCode.ENHANCE_YOUR_CALM],
  ['HTTP_1_1_REQUIRED', ErrorCode.HTTP_1_1_REQUIRED],
])('a reset with %s says that somebody broke the rules', (_, code) => {
  expect(resetBy(code)).toMatchObject({ kind: 'malformed', resetCode: code });
});

test('any other reset is one, with its code', () => {
  const failure = resetBy(ErrorCode.CANCEL);
  expect(failure).toMatchObject({ kind: 'reset', resetCode: ErrorCode.CANCEL });
  expect(failure.cause).toMatchObject({ message: 'the upstream closed the stream with CANCEL' });
  expect(resetBy(99).cause).toMatchObject({ message: 'the upstream closed the stream with code 99' });
});

test('a rule that the upstream broke on the stream is named', () => {
  const failure = streamFailure({ how: 'malformed', why: 'too much' }, LIVE);
  expect(failure).toMatchObject({ kind: 'malformed', resetCode: null, cause: { message: 'too much' } });
});

test('a lost connection names its own cause, and no code of the stream', () => {
  const failure = streamFailure({ how: 'lost' }, { ...LIVE, broken: lost });
  expect(failure).toEqual({ kind: 'reset', cause: lost, onReusedConnection: false, resetCode: null });
  const unawares = streamFailure({ how: 'lost' }, { broken: lost, closedWhileIdle: true });
  expect(unawares.onReusedConnection).toBe(true);
});

test('a connection on which the upstream broke a rule is malformed', () => {
  const broken = new Http2Fault(ErrorCode.PROTOCOL_ERROR, 'invalid');
  expect(streamFailure({ how: 'lost' }, { broken, closedWhileIdle: true })).toMatchObject({
    kind: 'malformed',
    onReusedConnection: false,
    resetCode: null,
  });
});
