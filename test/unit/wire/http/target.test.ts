import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeSegment, parseTarget } from '../../../../src/wire/http/target.ts';
import { played } from '../../../support/runs.ts';

const HOST = 'api.example.com';

function pathOf(target: string): string | null {
  const parsed = parseTarget(target, HOST);
  return 'rejected' in parsed ? null : parsed.path;
}

/** The rules of paths, once more and the slow way; null where it refuses. */
function referencePath(target: string): string | null {
  if (/[^\x21-\x7e]|#/.test(target)) return null;
  const sent = target.replace(/\?.*/, '');
  if (/\\|\/\/|%(?![0-9a-f]{2})|%(?:2f|5c|[01].|7f)/i.test(sent)) return null;
  const path = sent
    .replace(/%../g, found => found.toUpperCase())
    .replace(/%(?:2D|2E|3\d|4[1-9A-F]|5[\dA]|5F|6[1-9A-F]|7[\dAE])/g, found =>
      /%3[A-F]/.test(found) ? found : String.fromCharCode(Number.parseInt(found.slice(1), 16)),
    );
  if (/\/(?:;|%3B)[^/]*\//.test(path)) return null;
  return path.split('/').some(segment => /^\.\.?(?:$|;|%3B)/.test(segment)) ? null : path;
}

function decodedBytes(path: string): string {
  return path.replace(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

const piece = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      '/',
      '/a',
      '/B',
      '/7',
      'x',
      '.',
      '/.',
      '/..',
      '-',
      '~',
      ':',
      '@',
      '+',
      '?',
      '&',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '%2e',
      '%2E',
      '%41',
      '%7e',
      '%3a',
      '%3A',
      '%25',
      '2e',
      '%C3%A9',
      '%c3',
      '%20',
      '%ff',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(';', '%3b', '%3B', '//', '%2f', '%5C', '%00', '%0a', '%7F', '%1f'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('%', '%zz', '%4', '\\', '#', ' ', '\t', '\x7f', '\u00e9', '\u20ac', '%u002f'),
  },
);
const target = fc.array(piece, { maxLength: 12 }).map(pieces => `/${pieces.join('')}`);

describe('a request target', () => {
  test('has the canonical path that the rules define, or none', () => {
    fc.assert(
      fc.property(target, target => {
        expect(pathOf(target)).toBe(referencePath(target));
      }),
      played(20_000),
    );
  });

  test('is rejected or canonical for any bytes', () => {
    const bytes = fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map(code => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(bytes, text => {
        expect(pathOf(`/${text}`)).toBe(referencePath(`/${text}`));
      }),
      played(5_000),
    );
  });

  test('stays the same once canonical, means the same bytes, and contains nothing that is rejected', () => {
    fc.assert(
      fc.property(target, target => {
        const parsed = parseTarget(target, HOST);
        fc.pre(!('rejected' in parsed));
        const { path, query, semicolon } = parsed;
        expect(parseTarget(path + query, HOST)).toEqual(parsed);
        expect(decodedBytes(path) + query).toBe(
          decodedBytes(target.slice(0, target.length - query.length)) + query,
        );
        expect(path.split('/').length).toBe(target.slice(0, target.length - query.length).split('/').length);
        expect(path).not.toMatch(/[^\x21-\x7e]|[\\#?]|\/\/|%(?![0-9A-F]{2})|%(?:2F|5C|[01].|7F)/);
        expect(decodedBytes(path).split('/')).not.toContain('..');
        expect(semicolon).toBe(decodedBytes(path).includes(';'));
      }),
      played(5_000),
    );
  });

  test('is the same string if nothing has to change', () => {
    expect(parseTarget('/v1/@me/a:b/x.y/...', HOST)).toEqual({
      path: '/v1/@me/a:b/x.y/...',
      query: '',
      semicolon: false,
    });
  });

  test.each([
    ['/', '/'],
    ['/v1/%63hannels/%31', '/v1/channels/1'],
    ['/a%2db%5Fc%7ed%2e', '/a-b_c~d.'],
    ['/a%3ab', '/a%3Ab'],
    ['/a%3Ab', '/a%3Ab'],
    ['/a:b', '/a:b'],
    ['/%c3%a9', '/%C3%A9'],
    ['/%252e%252e/x', '/%252e%252e/x'],
    ['/%25%32%66', '/%252f'],
    ['/A/a/', '/A/a/'],
    ['/.hidden/..x/...', '/.hidden/..x/...'],
    ['/%2ehidden', '/.hidden'],
    ['/"<>[]^`{|}', '/"<>[]^`{|}'],
    ['/a/;x', '/a/;x'],
    ['/a/%3bx', '/a/%3Bx'],
  ])('%s becomes %s', (target, path) => {
    expect(pathOf(target)).toBe(path);
  });

  test.each([
    ...['//', '//v1/x', '/v1//x', '/v1/x//'],
    ...['/.', '/..', '/./x', '/x/../y', '/x/..', '/%2e', '/%2E%2e/x', '/.%2e', '/x/%2e./y'],
    ...['/;/a', '/;x/a', '/a/;x/', '/a/%3Bx/b', '/a/%3b/b'],
    ...['/..;x', '/.;', '/.;x/y', '/..%3bx', '/%2e%2e%3B', '/a/..;/b'],
    ...['/%c0%af', '/a/%C0%AE%c0%ae/b', '/%c1%9c', '/%E0%80%AF', '/%f0%80%80%af', '/%C0%80'],
    ...['/a%2fb', '/a%2Fb', '/a%5cb', '/a%5Cb', '/a\\b', '/\\', '/%00', '/a%00b', '/%0d%0a', '/%1F', '/%7f'],
    ...['/%', '/%4', '/%zz', '/%4g', '/%%34%31', '/%u002f', '/a#b', '/#', '/a#3Bb'],
    ...['/a\\3Bb', '/a b', '/a\tb', '/\x00', '/\x7f', '/\u00e9', '/\u20ac'],
    ...[
      '',
      '*',
      'v1/x',
      `${HOST}:443`,
      '?x',
      '..',
      'ftp://api.example.com/x',
      `xhttp://${HOST}/x`,
      `ftp:http://${HOST}/x`,
      'http:/x',
      'http:///x',
      'http://',
    ],
  ])('%j is refused', target => {
    expect(parseTarget(target, HOST)).toHaveProperty('rejected');
  });

  test.each(['/%E9', '/%FF%80', '/%C0x', '/%E0%A4%B9', '/%F0%9F%98%80', '/%80'])(
    '%j passes, since it hides no ASCII character',
    target => expect(parseTarget(target, HOST)).toMatchObject({ path: target }),
  );

  test.each(['?', '?a=b;c=%zz', '?x=/../%2f%00//', '?a[]=\'"\\<>{}|^`', '??'])(
    'leaves the query %j unchanged',
    query => {
      expect(parseTarget(`/v1/x${query}`, HOST)).toEqual({ path: '/v1/x', query, semicolon: false });
    },
  );

  test.each(['?a b', '?a\r', '?\x00', '?\x7f', '?\u00e9', '?\u20ac', '?a#b'])(
    'rejects the query %j',
    query => {
      expect(parseTarget(`/v1/x${query}`, HOST)).toHaveProperty('rejected');
    },
  );

  test.each(['/a;x', '/a%3bx', '/a/b%3B', '/;', '/a;'])('%s is flagged for its semicolon', target => {
    expect(parseTarget(target, HOST)).toMatchObject({ semicolon: true });
  });

  test('becomes a path if it is in absolute form for this host', () => {
    expect(parseTarget('http://api.example.com/v1/%41?b', HOST)).toEqual({
      path: '/v1/A',
      query: '?b',
      semicolon: false,
    });
    expect(parseTarget('HTTPS://API.example.com:8443/', 'api.EXAMPLE.com:8443')).toMatchObject({ path: '/' });
    expect(parseTarget('http://api.example.com', HOST)).toMatchObject({ path: '/', query: '' });
    expect(parseTarget('http://api.example.com?x', HOST)).toMatchObject({ path: '/', query: '?x' });
  });

  test.each([
    ...['http://other.example.com/', 'http://api.example.com:80/', 'http://user@api.example.com/'],
    ...['http://api.example.com.evil/', 'http://api.example.com\\@evil/', 'http://api.example.com/../x'],
    ...['http://api.example.com//x', 'http://api.example.com#x', 'http://api.example.com\n/'],
  ])('%j in absolute form is rejected', target => {
    expect(parseTarget(target, HOST)).toHaveProperty('rejected');
  });

  test('may be in asterisk-form for OPTIONS only, as may the absolute form that means the same', () => {
    const serverWide = { path: '*', query: '', semicolon: false };
    expect(parseTarget('*', HOST, 'OPTIONS')).toEqual(serverWide);
    expect(parseTarget('http://api.example.com', HOST, 'OPTIONS')).toEqual(serverWide);
    expect(parseTarget('http://other.example.com', HOST, 'OPTIONS')).toHaveProperty('rejected');
    expect(parseTarget('http://api.example.com/', HOST, 'OPTIONS')).toMatchObject({ path: '/' });
    expect(parseTarget('http://api.example.com?', HOST, 'OPTIONS')).toMatchObject({ path: '/', query: '?' });
    for (const method of ['GET', 'HEAD', 'POST', 'options', ''])
      expect(parseTarget('*', HOST, method)).toHaveProperty('rejected');
    for (const target of ['**', '*/', '*?a', '%2A', '', '?', '*a'])
      expect(parseTarget(target, HOST, 'OPTIONS')).toHaveProperty('rejected');
    expect(parseTarget('/*', HOST, 'OPTIONS')).toMatchObject({ path: '/*' });
  });

  test('is rejected in absolute form if no host was named', () => {
    expect(parseTarget('http:///x', '')).toHaveProperty('rejected');
  });

  test('may have sixteen thousand characters', () => {
    const long = '%7e'.repeat(5_000);
    expect(pathOf(`/${long}`)).toBe(`/${'~'.repeat(5_000)}`);
    expect(pathOf('/a'.repeat(8_000))).toBe('/a'.repeat(8_000));
  });
});

describe('a decoded segment', () => {
  test('is the text of its bytes', () => {
    expect(decodeSegment('abc')).toBe('abc');
    expect(decodeSegment('a%3Ab%25%C3%A9%F0%9F%98%80')).toBe('a:b%\u00e9\u{1f600}');
    expect(decodeSegment('a+b')).toBe('a+b');
  });

  test.each(['%FF', '%C3', '%C3x', '%C0%AF', '%ED%A0%80', '%F5%80%80%80', 'a%A9'])('%s is not UTF-8', raw => {
    expect(decodeSegment(raw)).toBeNull();
  });

  test('restores any encoded text', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(text, text => {
        expect(decodeSegment(encodeURIComponent(text))).toBe(text);
      }),
    );
  });
});
