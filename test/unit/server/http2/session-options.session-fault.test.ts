import { constants, type ServerHttp2Session } from 'node:http2';
import { expect, test } from 'vitest';
import { blameClient, faultOf } from '../../../../src/server/http2/session-options.ts';

const of = (code: string, errno?: number) => faultOf(Object.assign(new Error('x'), { code, errno }));

test.each([
  ['ERR_HTTP2_ERROR', -904, 'control_frames'],
  ['ERR_HTTP2_ERROR', -905, 'continuations'],
  ['ERR_HTTP2_ERROR', -902, 'refused_streams'],
  ['ERR_HTTP2_ERROR', -505, 'protocol'],
  ['ERR_HTTP2_TOO_MANY_INVALID_FRAMES', -902, 'invalid_frames'],
])('%s %i is a fault of the client: %s', (code, errno, fault) => {
  expect(of(code, errno)).toBe(fault);
});

test.each(['ECONNRESET', 'ERR_HTTP2_SESSION_ERROR', 'ERR_HTTP2_STREAM_CANCEL'])('%s is none', code => {
  expect(of(code)).toBeNull();
});

test('a session that Node ends says whose fault it was, and else what it was told to say', () => {
  const codes: unknown[] = [];
  const session = { destroy: (_: unknown, code: unknown) => codes.push(code) };
  blameClient(session as unknown as ServerHttp2Session);
  const destroy = session.destroy as (error?: unknown, code?: number) => void;
  const nghttp2 = (errno: number) => Object.assign(new Error('x'), { code: 'ERR_HTTP2_ERROR', errno });
  destroy(nghttp2(-904));
  destroy(nghttp2(-505));
  destroy(nghttp2(-904), 7);
  destroy(null);
  destroy();
  const { NGHTTP2_ENHANCE_YOUR_CALM: calm, NGHTTP2_PROTOCOL_ERROR: protocol } = constants;
  expect(codes).toEqual([calm, protocol, 7, undefined, undefined]);
});
