import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../../src/core/index.ts';
import {
  MAX_REQUEST_BYTES,
  readRefreshToken,
  readRequest,
} from '../../../../src/identity/signin/read-request.ts';

const read = (body: string | Buffer) => readRequest(Buffer.from(body));
const good = { code: 'c', redirectUri: 'https://app.example/cb' };

function violatedFields(body: string | Buffer): string[] {
  const refusal = read(body);
  if (!(refusal instanceof GatewayError)) return [];
  expect(refusal).toMatchObject({ status: 400, rpcCode: 3, side: 'client' });
  expect(refusal.details).toMatchObject([{ '@type': 'type.googleapis.com/google.rpc.BadRequest' }]);
  const violations = refusal.details[0]?.['fieldViolations'] as { field: string; description: string }[];
  expect(violations.every(({ description }) => description.length > 0)).toBe(true);
  return violations.map(({ field }) => field);
}

test('a code and a redirect uri are read as the JSON said them', () => {
  expect(read('{"code":"\\u0041 é","redirectUri":"HTTP://App.example:80/cb?x=%7e"}')).toEqual({
    code: 'A é',
    redirectUri: 'HTTP://App.example:80/cb?x=%7e',
    codeVerifier: undefined,
  });
});

test('unknown members are ignored, and so is a byte order mark', () => {
  expect(read(`\ufeff${JSON.stringify({ ...good, grant_type: 'password', x: [{}] })}`)).toMatchObject(good);
});

test('the last of doubled members wins', () => {
  expect(read('{"code":"a","redirectUri":"u","code":"b"}')).toMatchObject({ code: 'b' });
  expect(violatedFields('{"code":"a","redirectUri":"u","code":1}')).toEqual(['code']);
});

test.each([
  ...['', ' ', 'null', '7', '"x"', '[]', '[{}]', '{', '{"code":"a"'],
  ...["{'code':'a'}", '{"code":NaN}', 'code=a&redirectUri=b'],
])('%j is not a JSON object', body => expect(violatedFields(body)).toEqual(['body']));

test('invalid UTF-8 is not JSON, inside a string or outside', () => {
  const inside = Buffer.concat([
    Buffer.from('{"redirectUri":"u","code":"'),
    Buffer.of(0xc3, 0x28),
    Buffer.from('"}'),
  ]);
  expect(violatedFields(inside)).toEqual(['body']);
  expect(violatedFields(Buffer.of(0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00))).toEqual(['body']);
});

test.each([undefined, null, '', 7, true, ['c'], { toString: 'c' }])(
  '%j is neither a code nor a redirect uri',
  value => {
    expect(violatedFields(JSON.stringify({ ...good, code: value }))).toEqual(['code']);
    expect(violatedFields(JSON.stringify({ ...good, redirectUri: value }))).toEqual(['redirectUri']);
  },
);

test('everything that is wrong is reported at once', () => {
  expect(violatedFields('{"codeVerifier":"short"}')).toEqual(['code', 'redirectUri', 'codeVerifier']);
});

test('a lone surrogate is rejected, a pair is not', () => {
  expect(violatedFields('{"code":"a\\ud800","redirectUri":"\\udc00u"}')).toEqual(['code', 'redirectUri']);
  expect(read('{"code":"\\ud83e\\udda6","redirectUri":"u"}')).toMatchObject({ code: '🦦' });
});

test('__proto__ is a member like any other', () => {
  expect(violatedFields('{"__proto__":{"code":"c","redirectUri":"u"}}')).toEqual(['code', 'redirectUri']);
  expect(
    read('{"__proto__":{"code":"x"},"constructor":{"prototype":{"code":"y"}},"code":"c","redirectUri":"u"}'),
  ).toEqual({ code: 'c', redirectUri: 'u', codeVerifier: undefined });
  expect(({} as Record<string, unknown>)['code']).toBeUndefined();
});

test.each([
  '['.repeat(MAX_REQUEST_BYTES),
  '{"a":'.repeat(13_000),
  `{"code":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
])('a deeply nested body is refused and does no harm', body =>
  expect(read(body)).toBeInstanceOf(GatewayError),
);

test('64 KiB is the maximum', () => {
  const ofLength = (bytes: number) => {
    const empty = JSON.stringify({ ...good, x: '' });
    return JSON.stringify({ ...good, x: 'x'.repeat(bytes - empty.length) });
  };
  expect(read(ofLength(MAX_REQUEST_BYTES))).toMatchObject(good);
  expect(read(ofLength(MAX_REQUEST_BYTES + 1))).toMatchObject({ status: 413, rpcCode: 3 });
});

describe('a code verifier', () => {
  const verifier = (codeVerifier: unknown) => JSON.stringify({ ...good, codeVerifier });

  test.each(['a'.repeat(43), 'AZaz09-._~'.repeat(5), 'z'.repeat(128)])('%s is one', value => {
    expect(read(verifier(value))).toMatchObject({ codeVerifier: value });
  });

  test.each([
    '',
    'a'.repeat(42),
    'a'.repeat(129),
    `${'a'.repeat(43)}+`,
    `${'a'.repeat(43)}\n`,
    `é${'a'.repeat(43)}`,
    7,
    {},
  ])('%j is none', value => {
    expect(violatedFields(verifier(value))).toEqual(['codeVerifier']);
  });

  test('of null is as good as left out', () => {
    expect(read(verifier(null))).toEqual({ ...good, codeVerifier: undefined });
  });
});

test('the refusal repeats nothing of what was sent', () => {
  const refusal = read('{"code":["marker"],"redirectUri":"marker\\ud800","codeVerifier":"marker"}');
  expect(JSON.stringify(refusal) + String(refusal)).not.toContain('marker');
});

describe('a refresh token', () => {
  const refreshToken = (body: string) => readRefreshToken(Buffer.from(body));

  test('is read as the JSON said it, and other members are ignored', () => {
    expect(refreshToken('{"refreshToken":"\\u0041 é","scope":"x"}')).toBe('A é');
    expect(refreshToken('{"refreshToken":"a","refreshToken":"b"}')).toBe('b');
  });

  test.each([
    ...['{}', '{"refreshToken":7}', '{"refreshToken":""}'],
    ...['{"refreshToken":["marker"]}', '{"refreshToken":"marker\\ud800"}'],
  ])('is not in %s', body => {
    const refusal = refreshToken(body);
    expect(refusal).toMatchObject({
      status: 400,
      details: [{ fieldViolations: [{ field: 'refreshToken' }] }],
    });
    expect(JSON.stringify(refusal)).not.toContain('marker');
  });

  test.each(['', '[]', '"token"', 'refreshToken=a'])('is not looked for in %j, which is no object', body => {
    expect(refreshToken(body)).toMatchObject({ details: [{ fieldViolations: [{ field: 'body' }] }] });
  });
});
