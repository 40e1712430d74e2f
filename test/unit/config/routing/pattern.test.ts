import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PatternError, parseRoutePattern } from '../../../../src/config/routing/index.ts';

function error(path: string, methods: readonly string[] | null = null): string {
  try {
    parseRoutePattern(path, methods);
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
  return 'none';
}

describe('a route pattern', () => {
  test('is parsed into literals, parameters and the rest', () => {
    expect(parseRoutePattern('/v1/Channels/{channel_id}/**', ['GET', 'POST'])).toEqual({
      methods: ['GET', 'POST'],
      host: null,
      path: '/v1/Channels/{channel_id}/**',
      segments: [
        { kind: 'literal', folded: 'v1' },
        { kind: 'literal', folded: 'channels' },
        { kind: 'parameter', name: 'channel_id' },
        { kind: 'tail' },
      ],
      parameters: ['channel_id'],
    });
  });

  test('may be the root, alone or with all below it', () => {
    expect(parseRoutePattern('/', null).segments).toEqual([]);
    expect(parseRoutePattern('/**', null).segments).toEqual([{ kind: 'tail' }]);
  });

  test('has the same segments with a trailing slash', () => {
    expect(parseRoutePattern('/a/{b}/', null).segments).toEqual(parseRoutePattern('/a/{b}', null).segments);
  });

  test('names its parameters in order', () => {
    expect(parseRoutePattern('/{b}/x/{a}/{_C3}', null).parameters).toEqual(['b', 'a', '_C3']);
  });

  test.each([
    '/service.v1.Interactions/{method}',
    "/v1/@me/a:b/(x),y=1/$a&b+c!'~-",
    '/caf%C3%A9/%25/%3A/%20/%7B%7D/...',
  ])('accepts %s', path => {
    expect(error(path)).toBe('none');
  });
});

describe('an error in a pattern says what to write instead', () => {
  test.each([
    ['', 'write "/"'],
    ['v1/x', 'starts with "/": write "/v1/x"'],
    ['/a//b', 'empty segment: write "/a/b"'],
    ['//', 'empty segment: write "/"'],
    ['/a/**/b', '"**" takes all that follows and can only come last: write "{name}" for one segment'],
    ['/a/***', 'write "{name}" for one segment'],
    ['/a/*', '%2A for the "*" of "*"'],
    ['/a/x**', '"**" alone at the end'],
    ['/a{b}', '"a{b}" mixes braces and text'],
    ['/{a}{b}', 'since a parameter is a whole segment'],
    ['/{a', 'mixes braces'],
    ['/a}', 'mixes braces'],
    ['/{}', '"{}" is not a parameter: write letters, digits and "_" in the braces'],
    ['/{a-b}', 'not a parameter'],
    ['/{1a}', 'not a digit first'],
    ['/{a}/{b}/{a}', 'two parameters are named "a"'],
    ['/:id', 'write "{id}" for a parameter, or %3A'],
    ['/a/./b', 'refuses the segment "."'],
    ['/a/..', 'refuses the segment ".."'],
    ['/a;x', 'leave out the ";" of "a;x"'],
    ['/a%3Bx', 'refuses %3B'],
    ['/a?b=c', 'leave out "?" and what follows'],
    ['/a#b', 'leave out "#" and what follows'],
    ['/a\\b', 'write "/"'],
    ['/a b', 'write %20 for the character " "'],
    ['/a\tb', 'control characters'],
    ['/caf\u00e9', 'write %C3%A9 for the character "\u00e9"'],
    ['/\u{1f600}', 'write %F0%9F%98%80'],
    ['/a[0]', 'write %5B for the character "["'],
    ['/a%', 'write %25'],
    ['/a%4', 'write %25'],
    ['/a%zz', 'write %25'],
    ['/a%41', 'matched with %41 decoded: write "A"'],
    ['/%2e%2E', 'with %2e decoded: write "."'],
    ['/%7e', 'with %7e decoded: write "~"'],
    ['/a%2fb', 'refuses %2f'],
    ['/a%5C', 'refuses %5C'],
    ['/a%00', 'refuses %00'],
    ['/a%0A', 'refuses %0A'],
    ['/a%7F', 'refuses %7F'],
    ['/a%3ab', 'write %3A for %3a'],
    ['/a%FF', 'not UTF-8'],
  ])('%j', (path, advice) => {
    expect(error(path)).toContain(advice);
    expect(error(path)).toContain(`path "${path}": `);
  });

  test.each([
    [[], 'leave it out for every method'],
    [['get'], 'method "get" is written in upper case: write "GET"'],
    [['G T'], 'method "G T" is not a supported method'],
    [['GRPC'], '"GRPC" is not a supported method'],
    [['PRI'], '"PRI" is not a supported method'],
    [['CONNECT'], '"CONNECT" is not a supported method'],
    [['TRACE'], '"TRACE" is not a supported method'],
    [['*'], 'or name no method to match all'],
    [['GET', 'POST', 'GET'], '"GET" is named twice'],
  ])('methods %j', (methods, advice) => {
    expect(error('/', methods)).toContain(advice);
  });

  test('for any text there is a pattern or a PatternError', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('/', '{', '}', '*', '.', '%', '2', 'f', 'a', ';') }),
    );
    fc.assert(fc.property(text, text => void error(`/${text}`)));
  });
});
