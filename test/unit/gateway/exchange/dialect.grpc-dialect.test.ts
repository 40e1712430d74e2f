import { describe, expect, it } from 'vitest';
import type { RouteModel } from '../../../../src/config/index.ts';
import { parseGrpcPattern, RouteTable } from '../../../../src/config/routing/index.ts';
import {
  dialectOf,
  GRPC_DIALECT,
  GRPC_WEB_DIALECT,
  GRPC_WEB_TEXT_DIALECT,
  HTTP_DIALECT,
  readGrpcTimeout,
} from '../../../../src/gateway/exchange/dialect.ts';

/** One service that takes gRPC-Web, and one that does not. */
const ROUTES = new RouteTable<RouteModel>(
  (['web.Echo/*', 'plain.Echo/*'] as const).map(path => ({
    pattern: parseGrpcPattern(path, null),
    value: { kind: 'forward', grpcWeb: path.startsWith('web') } as RouteModel,
  })),
);

interface Asked {
  readonly protocol?: 'http1' | 'h2';
  readonly method?: string;
  readonly target?: string;
  readonly onlyCalls?: boolean;
  readonly fields?: readonly string[];
}

describe('what a request speaks', () => {
  const of = (contentType: string | null, asked: Asked = {}) => {
    const {
      protocol = 'h2',
      method = 'POST',
      target = '/web.Echo/Say',
      onlyCalls = false,
      fields = [],
    } = asked;
    const typed = contentType === null ? fields : ['x', 'y', 'content-type', contentType, ...fields];
    return dialectOf({ protocol, method, target, onlyCalls, fields: typed }, 'a.example', ROUTES);
  };

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
      'application/json',
      'x application/grpc',
      'application/grpc-webs',
      'application/grpcs',
    ])
      expect(of(type)).toBe(HTTP_DIALECT);
    expect(of('application/grpc', { protocol: 'http1' })).toBe(HTTP_DIALECT);
    expect(of('application/grpc', { method: 'GET' })).toBe(HTTP_DIALECT);
    expect(of(null)).toBe(HTTP_DIALECT);
  });

  it('is gRPC-Web over both versions of HTTP, where its route takes it', () => {
    for (const protocol of ['http1', 'h2'] as const)
      for (const type of ['application/grpc-web', 'application/grpc-web+proto', 'Application/gRPC-Web;x=y'])
        expect(of(type, { protocol })).toBe(GRPC_WEB_DIALECT);
    for (const target of ['/plain.Echo/Say', '/web.Echo', '/other', '/%zz'])
      expect(of('application/grpc-web', { target }), target).toBe(HTTP_DIALECT);
    expect(of('application/grpc-web', { method: 'PUT' })).toBe(HTTP_DIALECT);
    expect(of('application/grpc-web', { onlyCalls: true })).toBe(HTTP_DIALECT);
  });

  it('is answered in text if the client says so, or sends text and says nothing', () => {
    const text = 'application/grpc-web-text+proto';
    expect(of(text)).toBe(GRPC_WEB_TEXT_DIALECT);
    expect(of(text, { fields: ['Accept', '*/*'] })).toBe(GRPC_WEB_TEXT_DIALECT);
    expect(of(text, { fields: ['Accept', 'application/grpc-web+proto'] })).toBe(GRPC_WEB_DIALECT);
    expect(of('application/grpc-web', { fields: ['Accept', text] })).toBe(GRPC_WEB_TEXT_DIALECT);
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

  it('is read whatever the letter case of its name, which HTTP/1.1 passes on', () => {
    expect(readGrpcTimeout(['Grpc-Timeout', '4m'])).toBe(4);
  });

  it('comes once: the upstream could take the other', () => {
    expect(read('1S', '2S')).toEqual({ rejected: 'the field grpc-timeout came twice' });
  });
});
