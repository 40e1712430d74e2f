import { expect, test } from 'vitest';
import { GatewayError, RpcCode } from '../../../../src/core/index.ts';
import * as problems from '../../../../src/gateway/responses/errors.ts';
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
  [problems.badRequest('x'), 400, 3],
  [problems.noRoute(), 404, 5],
  [problems.methodNotSupported(['GET']), 405, 3],
  [problems.clientTooSlow(), 408, 4],
  [problems.bodyTooLarge(), 413, 3],
  [problems.expectationNotMet(), 417, 3],
  [problems.headTooLarge(), 431, 3],
  [problems.internalFault(null), 500, 13],
  [problems.upstreamFailed(null), 502, 14],
  [problems.overloaded('requests'), 503, 14],
  [problems.poolFull('requests'), 503, 14],
  [problems.shareTaken('requests'), 503, 14],
  [problems.upstreamTooSlow(null), 504, 4],
  [problems.versionNotSupported(), 505, 3],
])('%s is %i with code %i', (error, status, code) => {
  expect(error).toMatchObject({ status, rpcCode: code });
});

test('a 405 says what is allowed, and a 503 when to retry', () => {
  expect(problems.methodNotSupported(['GET']).fields[0]).toBe('Allow');
  expect(problems.overloaded('requests').fields).toEqual(['Retry-After', '1']);
});
