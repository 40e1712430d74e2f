import { describe, expect, it } from 'vitest';
import { GatewayError, RpcCode } from '../../../../src/core/index.ts';
import {
  addressRestricted,
  bucketRefused,
  errors,
  globallyRefused,
  renderGrpcError,
} from '../../../../src/gateway/responses/index.ts';
import {
  grpcCodeOf,
  grpcStatusFields,
  grpcStatusIn,
  httpStatusOf,
} from '../../../../src/gateway/responses/render-error.ts';

describe('the status of a refused gRPC call', () => {
  it.each([
    ['no valid token', errors.unauthenticated(null), 'UNAUTHENTICATED', 16],
    ['a spent limit', globallyRefused(1), 'RESOURCE_EXHAUSTED', 8],
    ['a restriction', addressRestricted(1, 'invalid_requests'), 'RESOURCE_EXHAUSTED', 8],
    ['no route', errors.noRoute(), 'UNIMPLEMENTED', 12],
    ['overload', errors.overloaded('requests'), 'UNAVAILABLE', 14],
    ['an upstream that fails', errors.upstreamFailed(null), 'UNAVAILABLE', 14],
    ['an upstream that is too slow', errors.upstreamTooSlow(null), 'DEADLINE_EXCEEDED', 4],
    ['a body that is too large', errors.bodyTooLarge(), 'RESOURCE_EXHAUSTED', 8],
    ['a head that is too large', errors.headTooLarge(), 'RESOURCE_EXHAUSTED', 8],
  ])('for %s is %s', (_, error, __, code) => {
    expect(grpcCodeOf(error)).toBe(code);
  });

  it('has its message percent-encoded', () => {
    const error = new GatewayError({ status: 500, rpcCode: 13, side: 'gateway', message: 'a ~ 5% é\n€' });
    expect(grpcStatusFields(error).slice(0, 4)).toEqual([
      'grpc-status',
      '13',
      'grpc-message',
      'a ~ 5%25 %C3%A9%0A%E2%82%AC',
    ]);
  });

  it('is trailers alone, with the fields of the refusal as metadata', () => {
    const { status, fields, body } = renderGrpcError(bucketRefused(1_500, 'user'));
    expect([status, body]).toEqual([200, '']);
    expect(fields.slice(0, 4)).toEqual(['Content-Type', 'application/grpc', 'grpc-status', '8']);
    expect(fields[fields.indexOf('Retry-After') + 1]).toBe('2');
  });

  it('has no details where trying again does not help', () => {
    expect(grpcStatusFields(errors.noRoute())).not.toContain('grpc-status-details-bin');
  });
});

describe('the status in the last fields of a response', () => {
  it('is one that gRPC defines', () => {
    expect(grpcStatusIn(['grpc-status', '0'])).toBe(RpcCode.ok);
    expect(grpcStatusIn(['x', 'y', 'grpc-status', '16'])).toBe(RpcCode.unauthenticated);
    for (const odd of ['17', '-1', '00', '8.0', 'OK', '', '99999999999999999999'])
      expect(grpcStatusIn(['grpc-status', odd])).toBe(RpcCode.unknown);
    expect(grpcStatusIn(['grpc-message', '0'])).toBeNull();
  });

  it('amounts to the status of HTTP by which invalid requests are counted', () => {
    expect([16, 7, 8, 5].map(code => httpStatusOf(code as RpcCode))).toEqual([401, 403, 429, 404]);
    expect([0, 1, 2, 3, 4, 9, 12, 13, 14].map(code => httpStatusOf(code as RpcCode))).toEqual(
      Array(9).fill(200),
    );
  });
});
