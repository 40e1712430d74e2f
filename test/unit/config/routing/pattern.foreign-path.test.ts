import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PatternError, parseRoutePattern } from '../../../../src/config/routing/index.ts';
import { played } from '../../../support/runs.ts';

function error(path: string): string {
  try {
    parseRoutePattern(path, null);
  } catch (error) {
    if (error instanceof PatternError) return error.message.replace(`path "${path}": `, '');
    throw error;
  }
  return 'none';
}

describe('a path as other gateways take it', () => {
  it.each([
    ['^/v1/.*$', '/v1/**'],
    ['/v1/.*', '/v1/**'],
    ['/v1.*', '/v1/**'],
    ['^/v1/(.*)', '/v1/**'],
    ['~ ^/v1/(.*)$', '/v1/**'],
    ['~* ^/v1', '/v1/**'],
    ['^/', '/**'],
    ['^/$', '/'],
    ['.*', '/**'],
    ['^/v1/health/?$', '/v1/health'],
    ['^/v1/users/\\d+$', '/v1/users/{name}'],
    ['/v1/users/[0-9]+/posts', '/v1/users/{name}/posts'],
    ['/v1/[^/]+/x', '/v1/{name}/x'],
    ['/v1/(\\d+)/(\\w+)', '/v1/{name}/{name2}'],
    ['^/v1/(?<id>[^/]+)/x$', '/v1/{id}/x'],
    ['^/v1/(?P<id>[a-z0-9-]{3,9})$', '/v1/{id}'],
    ['/v1/{id:[0-9]+}', '/v1/{id}'],
    ['/v1/\\.well-known/.*', '/v1/.well-known/**'],
  ])('%s is a regular expression for %s', (path, pattern) => {
    expect(error(path)).toBe(`a path is not a regular expression: write "${pattern}"`);
    expect(error(pattern)).toBe('none');
  });

  it.each(['/v1/(a|b)', '^/v1(/|$)', '~* \\.(js|css)$'])('%s has no single equivalent pattern', path => {
    expect(error(path)).toBe(
      'a path is not a regular expression: "{name}" stands for one segment, and "**" at the end for all that follow',
    );
  });

  it.each([
    ['https://api.example.com/v1', '/v1'],
    ['http://api.example.com', '/'],
  ])('%s is a URL with the path %s', (url, path) => {
    expect(error(url)).toBe(`a path has no scheme and host: write "${path}"`);
  });

  it.each([
    ['/v1/<id>', 'write "{id}" for a parameter'],
    ['/v1/<int:id>', 'write "{id}" for a parameter'],
    ['/v1/:id', 'write "{id}" for a parameter, or %3A for the ":" of ":id"'],
    [
      'v1/{a b}',
      'a path starts with "/": "{name}" stands for one segment, and "**" at the end for all that follow',
    ],
    [
      '//a b',
      'it has an empty segment: "{name}" stands for one segment, and "**" at the end for all that follow',
    ],
  ])('%s: %s', (path, advice) => {
    expect(error(path)).toBe(advice);
  });

  it.each(['/v1/$metadata', '/prices/5$', "/a(b)'c", '/v1/a+b', '/v1/...'])('%s is a plain path', path => {
    expect(error(path)).toBe('none');
  });

  it('never gets advice that would itself be rejected', () => {
    const piece = fc.constantFrom(
      ...[
        '/',
        '//',
        'v1',
        '^',
        '$',
        '.*',
        '(.*)',
        '[^/]+',
        '\\d+',
        '{id}',
        '{id:\\d+}',
        '(?<id>x)',
        ':id',
        '<id>',
      ],
      ...[
        '*',
        '**',
        ' ',
        '%',
        '%2F',
        '\\',
        '?',
        '#',
        ';',
        'é',
        '..',
        '{',
        '}',
        '(',
        ')',
        '|',
        'http://',
        '~ ',
        '$1',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), pieces => {
        const advised = /: write "([^"]*)"$/.exec(error(pieces.join('')))?.[1];
        if (advised?.startsWith('/')) expect(error(advised), pieces.join('')).toBe('none');
      }),
      played(5_000),
    );
  });
});
