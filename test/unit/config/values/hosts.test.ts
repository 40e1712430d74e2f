import { describe, expect, it, test } from 'vitest';
import { nameOf } from '../../../../src/config/routing/index.ts';
import { parseHost, parseLimitRoute } from '../../../../src/config/values/index.ts';
import { diagnosticsIn, diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

function error(text: string): string {
  try {
    return `taken as ${parseHost(text)}`;
  } catch (refused) {
    return refused instanceof Error ? refused.message : '';
  }
}

describe('a host in the file', () => {
  it('has one form, as hosts of requests do', () => {
    expect(parseHost('API.Example.com.')).toBe('api.example.com');
    expect(parseHost('*.Example.com')).toBe('*.example.com');
    expect(parseHost('[2001:DB8::0:7]')).toBe('[2001:db8::7]');
    expect(parseHost('localhost')).toBe('localhost');
  });

  test.each([
    ['https://api.example.com/v1', 'a host has no scheme: write "api.example.com"'],
    ['api.example.com/v1', 'a host has no path: write "api.example.com"'],
    ['api.example.com:8080', 'routes do not match ports: write "api.example.com"'],
    ['me@api.example.com', 'a host has no user: write "api.example.com"'],
    ['2001:db8::7', 'an IPv6 address needs brackets: write "[2001:db8::7]"'],
    ['b\u00fccher.example.com', 'clients send the ASCII form of a name: write "xn--bcher-kva.example.com"'],
    ['*.b\u00fccher.example', 'clients send the ASCII form of a name: write "*.xn--bcher-kva.example"'],
    ['.example.com', 'a host does not begin with a dot: write "*.example.com"'],
    ['api-*.example.com', 'a star stands for one whole label, the first: write "*.example.com"'],
    ['{tenant}.example.com', 'a star stands for one whole label, the first: write "*.example.com"'],
  ])('is not %s', (text, message) => {
    expect(error(text)).toBe(message);
  });

  test.each([
    '',
    'a..b',
    'a b',
    'a.*.b',
    '*.*.a',
    '*.',
    '**',
    '*',
    'a%41',
    '*.[::1]',
    '[::1]:80',
    '://',
    '[',
    'a,b',
  ])('is never advised to be another mistake: %j', text => {
    const [, advised] = /write "([^"]*)"$/.exec(error(text)) ?? [];
    if (advised === undefined) expect(error(text)).toMatch(/write a host such as api\.example\.com/);
    else expect(error(advised)).toMatch(/^taken as/);
  });

  it('is reported at its place in the list of a route', async () => {
    const text = NEEDED.replace('path:', 'hosts: [a.test, "b.test:80", A.test.], path:');
    expect(await diagnosticsIn(text)).toEqual([
      expect.stringContaining('routes[0].hosts[1]: routes do not match ports: write "b.test"'),
      expect.stringContaining('routes[0].hosts[2]: "A.test." is listed twice'),
    ]);
    expect(await diagnosticsIn(NEEDED.replace('path:', 'hosts: [], path:'))).toEqual([
      expect.stringContaining('leave out "hosts" to match every host'),
    ]);
  });

  it('stands before the path of a line in limits.yaml', () => {
    const name = (line: string) => nameOf(parseLimitRoute(line));
    expect(name('POST API.example.com/v1/exports')).toBe('POST api.example.com/v1/exports');
    expect(name('*.example.com/v1/**')).toBe('*.example.com/v1/**');
    expect(name('localhost/')).toBe('localhost/');
    expect(name('GRPC api.example.com/pkg.Service/*')).toBe('GRPC api.example.com/pkg.Service/*');
    expect(name('GRPC pkg.Service/*')).toBe('GRPC pkg.Service/*');
    expect(name('GRPC intranet/pkg.Service/*')).toBe('GRPC intranet/pkg.Service/*');
    expect(name('intranet./v1')).toBe('intranet/v1');
  });

  test.each([
    [
      'GET api.example.com:80/v1',
      'host "api.example.com:80": routes do not match ports: write "api.example.com"',
    ],
    ['GRPC a.test:80/pkg.Service/*', 'host "a.test:80": routes do not match ports: write "a.test"'],
    ['https://api.example.com/v1', 'a path has no scheme and host: write "/v1"'],
    ['v1/things', 'a path starts with "/": write "/v1/things"'],
    ['api.example.com', 'a path starts with "/": write "/api.example.com"'],
    ['GET api.example.com/v1//x', 'it has an empty segment: write "/v1/x"'],
  ])('is refused in a line: %s', async (line, message) => {
    const files = {
      'gateway.yaml': `${NEEDED}limits: limits.yaml\n`,
      'limits.yaml': `buckets: { a: { user: 1/1s } }\nroutes: { "${line}": a }\n`,
    };
    expect(diagnosticsOf(await loadFiles(files))).toContainEqual(
      expect.stringContaining(`is not a route: ${message}`),
    );
  });

  test.each([
    ['admin.example.test/v1/**', 'path: /v1/**, hosts: [admin.example.test]'],
    ['localhost:8080/v1', 'path: /v1, hosts: [localhost]'],
    ['"*.example.test/v1"', 'path: /v1, hosts: ["*.example.test"]'],
  ])('has a key of its own on a route: %s', async (path, advice) => {
    expect(await diagnosticsIn(NEEDED.replace('/**', path))).toEqual([
      expect.stringContaining(`routes[0].path: a path has no host: write ${advice}`),
    ]);
  });
});
