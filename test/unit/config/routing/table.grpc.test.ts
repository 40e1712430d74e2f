import { describe, expect, it } from 'vitest';
import { parseGrpcPattern, parseRoutePattern, RouteTable } from '../../../../src/config/routing/index.ts';

const grpc = (text: string) => ({ pattern: parseGrpcPattern(text), value: text });
const path = (text: string) => ({ pattern: parseRoutePattern(text, null), value: text });

describe('the gRPC routes of a table', () => {
  const table = new RouteTable(
    [grpc('a.B/*'), grpc('a.B/C'), grpc('a.Other/C'), path('/a.B/C'), path('/**')],
    [parseRoutePattern('/a.Closed/**', null)],
  );
  const find = (text: string) => table.find('GRPC', '', text)?.value ?? null;

  it('prefer the one that names the method', () => {
    expect(find('/a.B/C')).toBe('a.B/C');
    expect(find('/a.B/D')).toBe('a.B/*');
  });

  it('tell letters of both cases apart', () => {
    expect(find('/a.B/c')).toBe('a.B/*');
    expect(find('/a.b/C')).toBeNull();
  });

  it('take exactly a service and a method', () => {
    expect(find('/a.Other/C')).toBe('a.Other/C');
    for (const none of ['/a.Other/D', '/a.Other', '/a.Other/C/', '/a.B/C/D', '/', '', '*', 'a.Other/C'])
      expect(find(none)).toBeNull();
  });

  it('take no other request, as routes of paths take no call', () => {
    expect(table.find('POST', '', '/a.B/D')?.value).toBe('/**');
    expect(table.find('POST', '', '/a.B/C')?.value).toBe('/a.B/C');
    expect(find('/v1')).toBeNull();
  });
});
