import { describe, expect, test } from 'vitest';
import { prefersHtml } from '../../../../src/gateway/responses/error-page.ts';
import { type BareSettings, bareGateway, type Sending } from '../../../support/bare-gateway.ts';
import { values } from '../../../support/wire/index.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

describe('HTML is preferred', () => {
  test.each([
    [BROWSER, true],
    ['text/html', true],
    ['TEXT/HTML;q=0.5, application/json;q=0.4', true],
    ['text/html;level=1;q=0.5', true],
    ['*/*', false],
    ['text/*', false],
    ['', false],
    ['application/json, text/html', false],
    ['application/json, text/html;q=0.9', false],
    ['application/json, text/plain, */*', false],
    ['text/html;q=0', false],
    ['text/html;q=wrong', false],
    ['text/html, */*', false],
    ['x-text/html', false],
  ])('by Accept: %s: %s', (accept, prefers) => {
    expect(prefersHtml(['accept', accept])).toBe(prefers);
  });

  test('by nobody without Accept', () => {
    expect(prefersHtml([])).toBe(false);
  });
});

const PAGES = {
  '404.html': '<p>{status} {message} {request_id} {other} {status}</p>',
  '4xx.html': 'four ä',
  '5xx.html': 'five',
};

async function ask(
  line: string,
  { fields = ['Accept', BROWSER], ...sending }: Sending = {},
  more: BareSettings = {},
) {
  const bare = await bareGateway(
    { buckets: { none: { address: '1/1h' } }, routes: { '/limited': 'none' }, never_restrict: [] },
    {
      routes: [
        { path: '/gone', upstream: undefined, respond: { status: 404, body: 'its own' } },
        { path: '/limited', authentication: 'none' },
        {
          path: '/here/**',
          authentication: 'none',
          hosts: ['a.test'],
          methods: ['GET', 'POST', 'HEAD'],
          response_headers: { set: { 'X-Frame-Options': 'DENY' } },
        },
      ],
      config: { error_pages: 'errors', ...more.config },
      files: PAGES,
      ...more,
    },
  );
  const response = await bare.ask(line, { fields, ...sending });
  const [type = ''] = values(response.fields, 'content-type');
  return { ...response, text: response.body.toString(), type, vary: values(response.fields, 'vary'), bare };
}

describe('a page for browsers', () => {
  test('takes the place of an error object, with what the placeholders say, escaped', async () => {
    const { status, text, type, vary, fields } = await ask('GET /v1/anonymous-not');
    expect([status, text, type, vary]).toEqual([401, 'four \u00e4', 'text/html; charset=utf-8', ['Accept']]);
    expect(values(fields, 'www-authenticate')).toHaveLength(1);
    expect(values(fields, 'content-length')).toEqual([String(Buffer.byteLength('four \u00e4'))]);
  });

  test('is that of the status before that of its class', async () => {
    const hosts = { fields: ['Accept', BROWSER, 'X-Request-Id', '<b>'] };
    const { status, text } = await ask('GET /v1/anonymous/nothing', hosts);
    expect([status, text]).toEqual([404, '<p>404 There is nothing at this path. id {other} 404</p>']);
  });

  test('is without its body for HEAD', async () => {
    expect(await ask('HEAD /x')).toMatchObject({ status: 401, text: '', type: 'text/html; charset=utf-8' });
  });

  test.each<[string, string, Sending]>([
    ['who prefers JSON', 'GET /x', { fields: ['Accept', 'application/json'] }],
    ['who takes anything', 'GET /x', { fields: ['Accept', '*/*'] }],
    ['who says nothing', 'GET /x', { fields: [] }],
  ])('is not for those %s, to whom Vary says so', async (_, line, sending) => {
    expect(await ask(line, sending)).toMatchObject({ type: 'application/json', vary: ['Accept'] });
  });

  test.each(['POST /x', 'PUT /x', 'DELETE /x', 'OPTIONS /x'])('is not for %s', async line => {
    expect(await ask(line)).toMatchObject({ type: 'application/json', vary: [] });
  });

  test('is never for a 429', async () => {
    const { bare } = await ask('GET /limited');
    const refused = await bare.ask('GET /limited', { fields: ['Accept', BROWSER] });
    expect([refused.status, values(refused.fields, 'content-type')]).toEqual([429, ['application/json']]);
  });

  test.each(['GET /v1/anonymous/authorize-url', 'GET /v1/anonymous/auth'])(
    'is never at the endpoints of the sign-in: %s',
    async line => {
      expect(await ask(line)).toMatchObject({ type: 'application/json', vary: [] });
    },
  );

  test('is never in place of what a service or a route answers', async () => {
    const service = {
      service: (_: unknown, sink: { whole: (...parts: never[]) => void }) =>
        sink.whole(...([404, '', ['Content-Type', 'text/plain'], 'of the service'] as never[])),
    };
    expect(await ask('GET /here/x', {}, service as BareSettings)).toMatchObject({
      status: 404,
      text: 'of the service',
      vary: [],
    });
    expect(await ask('GET /gone')).toMatchObject({ status: 404, text: 'its own', vary: [] });
  });

  test('has the fields of the route', async () => {
    const failing = {
      service: (_: unknown, sink: { fail: (failure: object) => void }) =>
        sink.fail({
          kind: 'malformed',
          onReusedConnection: false,
          responseBegun: false,
          resetCode: null,
          cause: 'x',
        }),
    };
    const { status, text, fields } = await ask('GET /here/x', {}, failing as unknown as BareSettings);
    expect([status, text, values(fields, 'x-frame-options')]).toEqual([502, 'five', ['DENY']]);
  });
});
