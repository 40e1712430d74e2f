import { describe, expect, test } from 'vitest';
import {
  keepCallTrailers,
  keepResponseFields,
  keepTrailerFields,
  partTrailersOnly,
  type ResponsePolicy,
} from '../../../../src/wire/http/index.ts';

const kept = (fields: string[], policy: Partial<ResponsePolicy> = {}) =>
  keepResponseFields(fields, {
    ...{ status: 200, chunked: false, rateLimits: false, policies: false, cors: false },
    ...policy,
  });

test('fields pass in their own letter case, order and number', () => {
  const fields = ['Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Caf\u00e9', '\u00ff', 'Content-Length', '3'];
  expect(kept(fields)).toEqual(fields);
});

test('hop-by-hop fields and those that Connection names are dropped', () => {
  const fields = [
    ...['Connection', 'close, X-Hop', 'x-hop', '1', 'Keep-Alive', 'timeout=5'],
    ...['Upgrade', 'h2c', 'Proxy-Authenticate', 'x', 'ETag', '"e"'],
  ];
  expect(kept(fields)).toEqual(['ETag', '"e"']);
});

test('ports of the service do not reach clients, which would go around the gateway', () => {
  expect(kept(['Alt-Svc', 'h3=":8443"; ma=86400', 'alt-svc', 'h2="api.internal:443"'])).toEqual([]);
});

test('Content-Length passes even if Connection names it', () => {
  const fields = ['Connection', 'Content-Length, X-Hop', 'X-Hop', '1', 'Content-Length', '5'];
  expect(kept(fields)).toEqual(['Content-Length', '5']);
});

test('the request id is the gateway\u2019s own', () => {
  expect(kept(['X-Request-Id', 'theirs'])).toEqual([]);
});

test('a field that only resembles one of the gateway’s own passes', () => {
  const fields = ['X.Request.Id', 'theirs', 'Keep_Alive', '1', 'Content~Length', '5'];
  expect(kept(fields)).toEqual(fields);
});

test('204, interim and chunked responses have no Content-Length', () => {
  expect(kept(['Content-Length', '0'], { status: 204 })).toEqual([]);
  expect(kept(['Content-Length', '5'], { status: 103 })).toEqual([]);
  expect(kept(['Content-Length', '5'], { chunked: true })).toEqual([]);
  expect(kept(['Content-Length', '5'], { status: 304 })).toEqual(['Content-Length', '5']);
});

test('a 205 says that it is empty, whatever the upstream says', () => {
  expect(kept(['Content-Length', '5', 'ETag', '"e"'], { status: 205 })).toEqual([
    ...['ETag', '"e"', 'Content-Length', '0'],
  ]);
});

test('trailers are announced only if they can follow', () => {
  expect(kept(['Trailer', 'X-Sum'], { chunked: true })).toEqual(['Trailer', 'X-Sum']);
  expect(kept(['Trailer', 'X-Sum'])).toEqual([]);
});

describe('rate-limit fields of an upstream', () => {
  const theirs = ['X-RateLimit-Limit', '5', 'x-ratelimit-reset-after', '1.5', 'X_RateLimit_Scope', 'user'];
  const odd = ['X.RateLimit.Limit', '5', 'X~RateLimit-Global', 'true'];

  test('are dropped, in every spelling', () => {
    expect(kept([...theirs, ...odd, 'ETag', '"e"'])).toEqual(['ETag', '"e"']);
  });

  test('pass if the response may describe its own limits', () => {
    expect(kept(theirs, { rateLimits: true })).toEqual(theirs);
  });
});

describe('fields of the IETF draft from an upstream', () => {
  const theirs = ['RateLimit', '"b";r=1', 'ratelimit-policy', '"b";q=2;w=1', 'RateLimit_Remaining', '3'];

  test('are dropped with those of earlier drafts, in every spelling, if the gateway writes its own', () => {
    expect(kept([...theirs, 'RateLimited', 'no', 'Retry-After', '1'])).toEqual([
      ...['RateLimited', 'no', 'Retry-After', '1'],
    ]);
  });

  test('pass as they are if it does not', () => {
    expect(kept(theirs, { policies: true })).toEqual(theirs);
  });
});

describe('CORS fields of an upstream', () => {
  const theirs = ['Access-Control-Allow-Origin', '*', 'access-control-allow-credentials', 'true'];

  test('pass if the gateway has no CORS rules', () => {
    expect(kept(theirs, { cors: true })).toEqual(theirs);
  });

  test('are dropped if it has', () => {
    expect(kept(theirs)).toEqual([]);
  });

  test('but for the names that pages may read, which the gateway joins to its own', () => {
    const exposed = ['access-control-expose-headers', 'Location'];
    expect(kept(exposed)).toEqual(exposed);
    expect(kept(exposed, { status: 103 })).toEqual([]);
  });
});

test('trailers that describe the body pass, and fields that belong in a head do not', () => {
  const fields = [
    ...['X-Sum', 'a', 'Content-Length', '3', 'ETag', '"e"', 'content-type', 'text/html', 'Via', '1.1 x'],
  ];
  expect(keepTrailerFields(fields)).toEqual(['X-Sum', 'a', 'ETag', '"e"']);
});

test('trailers that some reader takes for head fields are dropped, as are CORS fields', () => {
  const limits = ['X~RateLimit_Scope', 'user', 'RateLimit', '"b";r=1', 'RateLimit.Policy', '"b";q=1'];
  const fields = ['Content.Length', '3', ...limits, 'Access-Control-Allow-Origin', '*'];
  expect(keepTrailerFields(fields)).toEqual([]);
});

test('trailers alone are divided: what concerns HTTP goes to the head', () => {
  const head = ['content-type', 'application/grpc', 'set-cookie', 'a=b'];
  const trailers = ['grpc-status', '5', 'x-trace-bin', 'AAE'];
  expect(partTrailersOnly([...trailers, ...head])).toEqual({ head, trailers });
});

test('trailers of a gRPC call pass, except those that a hop reads and the gateway writes', () => {
  const hop = ['http2-settings', 'x', 'connection', 'x', 'x-request-id', 'y', 'x-ratelimit-limit', '9'];
  const policies = ['ratelimit', '"b";r=1', 'ratelimit-policy', '"b";q=1'];
  const call = ['grpc-status', '0', 'x-trace-bin', 'AAE', 'x-trace-bin', 'AAI', 'content-type', 'a/b'];
  expect(keepCallTrailers([...hop, ...policies, ...call])).toEqual(call);
});
