import { describe, expect, it } from 'vitest';
import { threadProcessorMs } from '../../../../src/core/index.ts';
import { mayUseCookies, type TokenPlace, TokenPlaces } from '../../../../src/wire/http/index.ts';

const places = new TokenPlaces([
  { kind: 'query', name: 'access_token' },
  { kind: 'subprotocol', name: 'bearer' },
  { kind: 'cookie', name: 'api_token' },
]);
const of = (place: TokenPlace) => new TokenPlaces([place]);
const request = (query: string, ...fields: string[]) => ({ query, fields, isWebSocket: true, cookies: true });

describe('tokens in a request', () => {
  it.each<[string, string[], readonly string[]]>([
    ['?access_token=T', [], ['T']],
    ['?a=1&access_token=a.b-c_d%2B', [], ['a.b-c_d+']],
    ['?access%5Ftoken=T', [], ['T']],
    ['?access_token=', [], []],
    ['?access_token', [], []],
    ['?xaccess_token=T', [], []],
    ['?access_token=T&access_token=T', [], ['T', 'T']],
    ['', ['Sec-WebSocket-Protocol', 'chat, bearer, T'], ['T']],
    ['', ['Sec-WebSocket-Protocol', 'bearer', 'sec-websocket-protocol', 'T, chat'], ['T']],
    ['', ['Sec-WebSocket-Protocol', 'chat, bearer'], []],
    ['', ['Sec-WebSocket-Protocol', 'bearer, T, bearer, U'], ['T', 'U']],
    ['', ['Cookie', 'a=b; api_token=T; c=d'], ['T']],
    ['', ['Cookie', 'api_token=T', 'cookie', 'api_token=U'], ['T', 'U']],
    ['', ['Cookie', 'API_TOKEN=T; xapi_token=U'], []],
    ['?access_token=T', ['Cookie', 'api_token=U', 'Sec-WebSocket-Protocol', 'bearer, V'], ['T', 'V', 'U']],
  ])('%s %j', (query, fields, tokens) => {
    expect(places.tokensIn(request(query, ...fields))).toEqual(tokens);
  });

  it('are not where the route does not say so', () => {
    const fields = ['Cookie', 'api_token=T', 'Sec-WebSocket-Protocol', 'bearer, T'];
    expect(of({ kind: 'query', name: 'token' }).tokensIn(request('?access_token=T', ...fields))).toEqual([]);
  });

  it('are neither in cookies that do not count nor in subprotocols of other requests', () => {
    const fields = ['Cookie', 'api_token=T', 'Sec-WebSocket-Protocol', 'bearer, T'];
    expect(places.tokensIn({ query: '', fields, isWebSocket: false, cookies: false })).toEqual([]);
  });
});

describe('what is left of a query', () => {
  it.each([
    ['', ''],
    ['?', '?'],
    ['?a=1&&b', '?a=1&&b'],
    ['?access_token=T', ''],
    ['?access_token=T&a=1', '?a=1'],
    ['?a=1&access_token=T', '?a=1'],
    ['?a=1&access_token=T&b=2', '?a=1&b=2'],
    ['?a=1;access_token=T;b=2', '?a=1;b=2'],
    ['?access_token=T&access_token=U', ''],
    ['?access_token', ''],
    ['?a=access_token=T', '?a=access_token=T'],
    ['?my_access_token=T', '?my_access_token=T'],
    ['?%zz=1&access_token=%zz', '?%zz=1'],
  ])('%s is %s', (query, left) => {
    expect(places.cutQuery(query)).toBe(left);
  });

  it.each([
    ...['access%5ftoken', '%61ccess_token', 'access%255Ftoken'],
    ...['ACCESS_TOKEN', 'Access_Token', 'access.token'],
    ...['access+token', 'access%20token', '+access_token', 'access_token[]', 'access_token[a][b]'],
    ...['access%5Btoken', 'access_token%5B%5D', 'access_token%00', 'access_token%00x', 'access_token%A0'],
    ...['%61ccess_token%FF', '?access_token', 'x?access_token', 'b%26access_token', 'b%253Baccess_token'],
  ])('is nothing where a server could read %s as the name', name => {
    expect(places.cutQuery(`?a=1&${name}=T`)).toBe('?a=1');
  });
});

describe('what is left of fields', () => {
  const left = (...fields: string[]) => places.cutFields(fields);

  it.each<[string[], string[]]>([
    [
      ['Accept', '*/*'],
      ['Accept', '*/*'],
    ],
    [
      ['Cookie', ''],
      ['Cookie', ''],
    ],
    [
      ['Cookie', 'a=b; api_token=T; c="d"'],
      ['Cookie', 'a=b; c="d"'],
    ],
    [['cookie', 'api_token=T'], []],
    [
      ['Cookie', '%61pi_token=T; a=b'],
      ['Cookie', 'a=b'],
    ],
    [
      ['Cookie', 'a=b;c=d'],
      ['Cookie', 'a=b;c=d'],
    ],
    [
      ['Sec-WebSocket-Protocol', 'a,b'],
      ['Sec-WebSocket-Protocol', 'a,b'],
    ],
    [
      ['Sec-WebSocket-Protocol', 'bearer, T, chat'],
      ['Sec-WebSocket-Protocol', 'chat'],
    ],
    [['Sec-WebSocket-Protocol', 'BEARER, T'], []],
    [
      ['Sec-WebSocket-Protocol', 'a, bearer', 'Sec-WebSocket-Protocol', 'T'],
      ['Sec-WebSocket-Protocol', 'a'],
    ],
    [
      ['Referer', 'https://a/b?access_token=T#c'],
      ['Referer', 'https://a/b'],
    ],
    [
      ['Referer', 'https://a/b#access_token=T', 'HX-Current-URL', '/b?access_token=T'],
      ['Referer', 'https://a/b', 'HX-Current-URL', '/b'],
    ],
    [
      ['referer', '/b?a=1&access%5ftoken=T'],
      ['referer', '/b?a=1'],
    ],
    [
      ['Referer', 'https://a/?q=access_token'],
      ['Referer', 'https://a/?q=access_token'],
    ],
  ])('%j', (fields, expected) => {
    expect(left(...fields)).toEqual(expected);
  });

  it('is all of them where no such place is named', () => {
    const fields = [
      ...['Cookie', 'api_token=T', 'Sec-WebSocket-Protocol', 'bearer, T', 'Referer', '/?access_token=T'],
    ];
    expect(of({ kind: 'query', name: 'token' }).cutFields(fields)).toEqual(fields);
  });

  it('holds no token, whatever surrounds it', () => {
    const parts = [
      ...['access_token=T0KEN', 'a=b', '', 'bearer', 'T0KEN', '%61pi_token=T0KEN', 'api_token=T0KEN'],
    ];
    for (const one of parts)
      for (const two of parts)
        for (const three of parts) {
          const all = [one, two, three];
          expect(places.cutQuery(`?${all.filter(part => part !== 'T0KEN').join('&')}`)).not.toContain(
            'access_token',
          );
          expect(left('Cookie', all.join('; ')).join()).not.toContain('api_token');
        }
  });

  it.each([' ', '[', '[]', '%20', ';', '?'])('are looked for once in a name full of %j', text => {
    const name = `x${text.repeat(100_000)}x`;
    const beforeMs = threadProcessorMs();
    expect(places.cutQuery(`?${name}=1&access_token=T`)).toBe(`?${name}=1`);
    expect(places.cutFields(['Cookie', `${name}=1`])).toEqual(['Cookie', `${name}=1`]);
    // A tenth of a second. If each character were looked at from each other, it would be minutes.
    expect(threadProcessorMs() - beforeMs).toBeLessThan(3_000);
  });
});

describe('a cookie counts', () => {
  const own = { scheme: 'https', host: 'api.example' } as const;
  const origins = new Set(['https://app.example']);
  const counts = (isWebSocket: boolean, ...fields: string[]) =>
    mayUseCookies(fields, isWebSocket, own, origins);

  it.each<[boolean, string[]]>(
    [
      [true, ['Origin', 'https://api.example']],
      [true, ['origin', 'https://api.example:443']],
      [true, ['Origin', 'https://app.example']],
      [true, ['Sec-Fetch-Site', 'same-origin']],
      [true, ['Sec-Fetch-Site', 'none']],
      [false, []],
      [false, ['Sec-Fetch-Site', 'cross-site']],
      [false, ['Sec-Fetch-Site', 'same-site']],
      [false, ['Sec-Fetch-Site', 'none', 'Sec-Fetch-Site', 'cross-site']],
      [false, ['Origin', 'null']],
      [false, ['Origin', '']],
      [false, ['Origin', 'http://api.example']],
      [false, ['Origin', 'https://api.example.evil.test']],
      [false, ['Origin', 'https://api.example:8443']],
      [false, ['Origin', 'https://api.example', 'Origin', 'https://evil.test']],
      [false, ['Origin', 'https://evil.test', 'Sec-Fetch-Site', 'same-origin']],
    ].map(([said, fields]) => [said, fields] as [boolean, string[]]),
  )('%s: a read with %j', (said, fields) => {
    expect(counts(false, ...fields)).toBe(said);
  });

  it('with a WebSocket only if that names its origin', () => {
    expect(counts(true, 'Origin', 'https://api.example')).toBe(true);
    expect(counts(true, 'Sec-Fetch-Site', 'same-origin')).toBe(false);
    expect(counts(true)).toBe(false);
  });

  it('where TLS ends before the gateway, for pages of both schemes', () => {
    const plain = { scheme: 'http', host: 'api.example' } as const;
    for (const origin of ['http://api.example', 'https://api.example'])
      expect(mayUseCookies(['Origin', origin], false, plain, origins)).toBe(true);
  });
});
