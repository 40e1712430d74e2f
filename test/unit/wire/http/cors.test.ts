import { describe, expect, test } from 'vitest';
import {
  askedMethod,
  type CorsRules,
  corsFields,
  mayOpenWebSocket,
  preflightFields,
} from '../../../../src/wire/http/index.ts';

const rules = (change: Partial<CorsRules> = {}): CorsRules => ({
  origins: new Set(['https://app.example']),
  allowHeaders: null,
  exposeHeaders: [],
  credentials: false,
  maxAgeS: 600,
  policies: false,
  proofs: false,
  ...change,
});

const asked = (...more: string[]) => [
  ...['Origin', 'https://app.example', 'Access-Control-Request-Method', 'PUT'],
  ...more,
];

function fieldOf(fields: readonly string[], name: string): string | undefined {
  const at = fields.indexOf(name);
  return at === -1 ? undefined : fields[at + 1];
}

describe('a response', () => {
  test('lets a listed origin read everything about limits', () => {
    const fields = corsFields(rules(), 'https://app.example');
    expect(fieldOf(fields, 'Access-Control-Allow-Origin')).toBe('https://app.example');
    expect(fieldOf(fields, 'Access-Control-Expose-Headers')).toContain('X-RateLimit-Reset-After');
    expect(fieldOf(fields, 'Access-Control-Expose-Headers')).toContain('Retry-After');
    expect(fieldOf(fields, 'Vary')).toBe('Origin');
    expect(fields).not.toContain('Access-Control-Allow-Credentials');
  });

  test('lets it read the fields of the IETF draft where they are sent', () => {
    const exposed = (policies: boolean) =>
      fieldOf(corsFields(rules({ policies }), 'https://app.example'), 'Access-Control-Expose-Headers');
    expect(exposed(true)).toBe(`${exposed(false)}, RateLimit, RateLimit-Policy`);
  });

  test('lets it read what the service and the configuration expose, each name once', () => {
    const exposed = (theirs: string[], own: string[] = []) =>
      fieldOf(
        corsFields(rules({ exposeHeaders: own }), 'https://app.example', false, theirs),
        'Access-Control-Expose-Headers',
      );
    const usual = exposed([]);
    expect(exposed(['Location , Upload-Offset', 'retry-after,ETag'], ['etag', 'X-Own'])).toBe(
      `${usual}, Location, Upload-Offset, ETag, X-Own`,
    );
    expect(exposed(['*'])).toBe(`${usual}, *`);
    expect(exposed(['a b"c', ',,'])).toBe(usual);
  });

  test.each(['https://evil.example', 'https://app.example.evil', 'HTTPS://APP.EXAMPLE', 'null', undefined])(
    'does not let %s read it, and is not cached for others',
    origin => {
      expect(corsFields(rules(), origin)).toEqual(['Vary', 'Origin']);
    },
  );

  test('allows any origin if the list does', () => {
    const fields = corsFields(rules({ origins: null }), 'https://evil.example');
    expect(fieldOf(fields, 'Access-Control-Allow-Origin')).toBe('*');
    expect(fields).not.toContain('Vary');
  });

  test('with credentials names the origin, since the wildcard is not allowed', () => {
    const fields = corsFields(rules({ origins: null, credentials: true }), 'https://a.example');
    expect(fieldOf(fields, 'Access-Control-Allow-Origin')).toBe('https://a.example');
    expect(fieldOf(fields, 'Access-Control-Allow-Credentials')).toBe('true');
    expect(fieldOf(fields, 'Vary')).toBe('Origin');
    expect(corsFields(rules({ origins: null, credentials: true }), undefined)).toEqual(['Vary', 'Origin']);
  });
});

describe('a preflight', () => {
  test('names an origin and the method that is asked for', () => {
    expect(askedMethod(asked())).toBe('PUT');
    expect(askedMethod(['Origin', 'https://app.example'])).toBeNull();
    expect(askedMethod(['Origin', 'https://app.example', 'Access-Control-Request-Method', ''])).toBeNull();
    expect(askedMethod(['Access-Control-Request-Method', 'PUT'])).toBeNull();
    expect(askedMethod(['Origin', '', 'Access-Control-Request-Method', 'PUT'])).toBeNull();
  });

  test('learns that its method and fields are allowed, and for how long', () => {
    const fields = preflightFields(
      rules(),
      asked('Access-Control-Request-Headers', 'authorization, x-a'),
      'PUT',
    );
    expect(fieldOf(fields, 'Access-Control-Allow-Origin')).toBe('https://app.example');
    expect(fieldOf(fields, 'Access-Control-Allow-Methods')).toBe('PUT');
    expect(fieldOf(fields, 'Access-Control-Allow-Headers')).toBe('authorization, x-a');
    expect(fieldOf(fields, 'Access-Control-Max-Age')).toBe('600');
    expect(fieldOf(fields, 'Vary')).toContain('Access-Control-Request-Headers');
    expect(preflightFields(rules(), asked(), 'PUT')).not.toContain('Access-Control-Allow-Headers');
  });

  test('learns the listed fields if there is a list', () => {
    const listed = rules({ allowHeaders: ['Authorization', 'X-A'] });
    const fields = preflightFields(listed, asked('Access-Control-Request-Headers', 'x-secret'), 'PUT');
    expect(fieldOf(fields, 'Access-Control-Allow-Headers')).toBe('Authorization, X-A');
  });

  const evil = ['Origin', 'https://evil.example', 'Access-Control-Request-Method', 'PUT'];
  test.each<[string, string[], string | null]>([
    ['an origin that is not allowed', evil, 'PUT'],
    ['a method that is not served', asked(), null],
    ...['x y"<>', 'a(b)', 'a;b', 'a\x80', '\u212aey'].map((names): [string, string[], string] => [
      'invalid field names',
      asked('Access-Control-Request-Headers', names),
      'PUT',
    ]),
  ])('gets nothing for %s: %j', (_, fields, method) => {
    expect(preflightFields(rules(), fields, method).filter((_, i) => i % 2 === 0)).toEqual(['Vary']);
  });
});

describe('a WebSocket', () => {
  const from = (...origins: string[]) => ['Cookie', 'a=b', ...origins.flatMap(origin => ['Origin', origin])];

  test('may be opened by pages of the list and of the same host, and by what is no page', () => {
    for (const fields of [from('https://app.example'), from('https://api.example:8443'), from()])
      expect(mayOpenWebSocket(rules(), fields, 'API.example:8443')).toBe(true);
  });

  test('may not be opened by any other page, nor by one that names two origins', () => {
    for (const fields of [
      from('https://evil.example'),
      from('https://api.example'),
      from('null'),
      from('https://app.example', 'https://evil.example'),
    ])
      expect(mayOpenWebSocket(rules(), fields, 'api.example:8443')).toBe(false);
  });

  test('may be opened by every page where any origin may call', () => {
    expect(mayOpenWebSocket(rules({ origins: null }), from('https://evil.example'), 'api.example')).toBe(
      true,
    );
  });
});
