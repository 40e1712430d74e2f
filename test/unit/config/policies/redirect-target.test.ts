import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileLocation, locationFor } from '../../../../src/config/policies/redirect-target.ts';
import { parseTarget } from '../../../../src/wire/http/index.ts';
import { played } from '../../../support/runs.ts';

const sentTo = (to: string, ofRoute: string, path: string, query = '') =>
  locationFor(compileLocation(to, ofRoute), path, query);

describe('{path} and {rest}', () => {
  it.each([
    ['https://new.example{path}', '/**', '/blog/2024/post', '?x=1', 'https://new.example/blog/2024/post?x=1'],
    ['https://new.example{path}', '/a/{id}', '/a/%C3%A4/', '', 'https://new.example/a/%C3%A4/'],
    ['https://new.example{path}#top', '/**', '/', '?x', 'https://new.example/?x#top'],
    ['https://new.example{path}?old=1', '/**', '/a', '?x', 'https://new.example/a?old=1'],
    ['https://new.example{path}?old=1#b', '/**', '/a', '?x', 'https://new.example/a?old=1#b'],
    [
      'https://new.example/n/{rest}',
      '/blog/{year}/**',
      '/blog/2024/a/b',
      '?x',
      'https://new.example/n/a/b?x',
    ],
    ['https://new.example/n/{rest}', '/blog/**', '/blog', '', 'https://new.example/n/'],
    ['https://new.example/n/{rest}', '/blog/**', '/blog/', '', 'https://new.example/n/'],
    ['/new/{rest}', '/blog/**', '/BLOG/a/', '', '/new/a/'],
    ['/{rest}', '/blog/**', '/blog/a%20b', '?', '/a%20b?'],
    ['/{rest}', '/**', '/a/b', '', '/a/b'],
    ['/new/{rest}.html', '/blog/**', '/blog/a', '?x', '/new/a.html?x'],
  ])('in %s, on %s, make of %s%s %s', (to, ofRoute, path, query, location) => {
    expect(sentTo(to, ofRoute, path, query)).toBe(location);
  });

  it('change no host, whatever clients send', () => {
    const piece = fc.constantFrom(
      '/',
      '//',
      '.',
      '..',
      '%2F',
      '%2f',
      '%5C',
      '\\',
      '@',
      ':',
      'evil.example',
      'a',
      ';',
      '%00',
      '?',
      '#',
    );
    const wild = fc.array(piece, { maxLength: 8 }).map(parts => `/${parts.join('')}`);
    fc.assert(
      fc.property(wild, sent => {
        const target = parseTarget(sent, 'a.test');
        if ('rejected' in target) return;
        for (const to of [
          'https://new.example{path}',
          'https://new.example/{rest}',
          'https://new.example/n/{rest}',
        ])
          expect(new URL(sentTo(to, '/**', target.path, target.query)).host).toBe('new.example');
        for (const to of ['/{rest}', '/n/{rest}'])
          expect(new URL(sentTo(to, '/**', target.path), 'https://here.example').host).toBe('here.example');
      }),
      played(500),
    );
  });
});
