import { expect, test } from 'vitest';
import { GatewayError, RpcCode } from '../../../../src/core/index.ts';
import * as errors from '../../../../src/gateway/responses/errors.ts';
import { renderError } from '../../../../src/gateway/responses/render-error.ts';

const render = (message: string, fields: string[] = []) =>
  renderError(
    new GatewayError({ status: 400, rpcCode: RpcCode.invalidArgument, side: 'client', message, fields }),
  );

test('an error becomes the error object of the contract', () => {
  const response = render('No.', ['Retry-After', '1']);
  expect(JSON.parse(response.body)).toEqual({ code: 3, message: 'No.', details: [] });
  expect(response.fields).toEqual([
    ...['Content-Type', 'application/json', 'Content-Length', String(response.body.length)],
    ...['Retry-After', '1'],
  ]);
});

test('a body is always ASCII, so that its length in characters is its length in bytes', () => {
  const response = render('caf\u00e9 \u20ac \ud83d\ude00 \u007f');
  expect(/^[\x20-\x7e]*$/.test(response.body)).toBe(true);
  expect(JSON.parse(response.body).message).toBe('caf\u00e9 \u20ac \ud83d\ude00 \u007f');
});

test.each([
  [errors.badRequest('x'), 400, 3],
  [errors.noRoute(), 404, 5],
  [errors.methodNotSupported(['GET']), 405, 3],
  [errors.clientTooSlow(), 408, 4],
  [errors.bodyTooLarge(), 413, 3],
  [errors.expectationNotMet(), 417, 3],
  [errors.headTooLarge(), 431, 3],
  [errors.internalFault(null), 500, 13],
  [errors.upstreamFailed(null), 502, 14],
  [errors.overloaded('requests'), 503, 14],
  [errors.poolFull('requests'), 503, 14],
  [errors.shareTaken('requests'), 503, 14],
  [errors.upstreamTooSlow(null), 504, 4],
  [errors.deadlineExceeded(), 504, 4],
  [errors.versionNotSupported(true), 505, 3],
  [errors.versionNotSupported(false), 505, 3],
])('%s is %i with code %i', (error, status, code) => {
  expect(error).toMatchObject({ status, rpcCode: code });
});

test('a 405 says what is allowed, and a 503 when to retry', () => {
  expect(errors.methodNotSupported(['GET']).fields[0]).toBe('Allow');
  expect(errors.overloaded('requests').fields).toEqual(['Retry-After', '1']);
});
