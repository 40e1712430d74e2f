import { describe, expect, it } from 'vitest';
import {
  dialectOf,
  GRPC_DIALECT,
  HTTP_DIALECT,
  readGrpcTimeout,
} from '../../../../src/gateway/exchange/dialect.ts';

describe('what a request speaks', () => {
  const of = (contentType: string, protocol: 'http1' | 'h2' = 'h2', method = 'POST') =>
    dialectOf({ protocol, method, fields: ['x', 'y', 'content-type', contentType] });

  it('is gRPC by its content type', () => {
    for (const type of [
      'application/grpc',
      'application/grpc+proto',
      'application/grpc;x=y',
      'Application/GRPC',
    ])
      expect(of(type)).toBe(GRPC_DIALECT);
  });

  it('is HTTP where that is another, without HTTP/2, and with any method but POST', () => {
    for (const type of [
      'application/grpc-web',
      'application/grpc-web+proto',
      'application/json',
      'x application/grpc',
    ])
      expect(of(type)).toBe(HTTP_DIALECT);
    expect(of('application/grpc', 'http1')).toBe(HTTP_DIALECT);
    expect(of('application/grpc', 'h2', 'GET')).toBe(HTTP_DIALECT);
    expect(dialectOf({ protocol: 'h2', method: 'POST', fields: [] })).toBe(HTTP_DIALECT);
  });
});

describe('the deadline of a call', () => {
  const read = (...values: string[]) =>
    readGrpcTimeout(['a', 'b', ...values.flatMap(v => ['grpc-timeout', v])]);

  it('is a number of up to eight digits with a unit', () => {
    expect(read('1H')).toBe(3_600_000);
    expect(read('2M')).toBe(120_000);
    expect(read('3S')).toBe(3_000);
    expect(read('4m')).toBe(4);
    expect(read('5u')).toBeCloseTo(0.005);
    expect(read('99999999n')).toBeCloseTo(100);
    expect(read('0S')).toBe(0);
  });

  it('is absent without the field, or if no timer can wait that long', () => {
    expect(read()).toBeNull();
    expect(read('99999999S')).toBeNull();
    expect(read('99999999H')).toBeNull();
  });

  it('is nothing else', () => {
    for (const value of ['', 'S', '1', '1s', '-1S', '1.5S', ' 1S', '123456789S', '1SS', '1h', '1S\n'])
      expect(read(value), value).toHaveProperty('rejected');
  });

  it('comes once: the upstream could take the other', () => {
    expect(read('1S', '2S')).toEqual({ rejected: 'the field grpc-timeout came twice' });
  });
});
