import { describe, expect, it } from 'vitest';
import {
  findConflicts,
  findHidden,
  PatternError,
  parseRoutePattern,
} from '../../../../src/config/routing/index.ts';
import { parseGrpcPattern } from '../../../../src/config/routing/pattern.ts';

function error(text: string): string {
  try {
    parseGrpcPattern(text);
  } catch (error) {
    if (error instanceof PatternError) return error.message;
  }
  throw new Error(`${text} was read`);
}

describe('the pattern of a gRPC route', () => {
  it.each(['service.v1.Interactions/Create', 'Echo/*', '_a.B_2/c'])('%s is read', text => {
    expect(parseGrpcPattern(text)).toMatchObject({ methods: ['GRPC'], path: text, parameters: [] });
  });

  it('is refused with what to write instead', () => {
    expect(error('/a.B/C')).toBe('a service begins without "/": write "a.B/C"');
    expect(error('http://a.B/C')).toContain('no scheme and host');
    expect(error('*')).toContain('name the service');
    expect(error('*/C')).toContain('name the service');
    expect(error('**')).toContain('name the service');
    expect(error('')).toContain('name the service');
    expect(error('a..B/C')).toBe('"a..B" is not the name of a service such as package.Service');
    expect(error('a.{b}/C')).toContain('is not the name of a service');
    expect(error('a.B')).toBe('the method is missing: write "a.B/*" for every one');
    expect(error('a.B/')).toBe('write "a.B/*" for every method');
    expect(error('a.B/**')).toBe('write "a.B/*" for every method');
    expect(error('a.B/C/D')).toContain('a service and a method are all');
    expect(error('a.B/{method}')).toContain('"{method}" is not the name of a method');
  });

  it('conflicts only with itself: letter case counts, and paths are different', () => {
    const patterns = ['a.B/C', 'a.B/c', 'a.B/*', 'a.B/C'].map(text => parseGrpcPattern(text));
    expect(findConflicts(patterns)).toEqual([[0, 3]]);
    const path = parseRoutePattern('/a.B/C', null);
    expect(findConflicts([path, parseGrpcPattern('a.B/C')])).toEqual([]);
    expect(findHidden([parseRoutePattern('/**', null), ...patterns.slice(0, 3)])).toEqual([]);
  });
});
