import { describe, expect, it } from 'vitest';
import { diagnosticsIn, loadFiles } from '../../../support/config-text.ts';

const ROUTES = 'routes: [{ path: /, upstream: api, authentication: none }]\n';
const upstream = (...lines: string[]) =>
  `upstreams:\n  api:\n${lines.map(line => `    ${line}\n`).join('')}${ROUTES}`;

describe('the addresses of an upstream', () => {
  it('stand in "url" or "urls"', async () => {
    expect(await diagnosticsIn(upstream('max_requests: 5'))).toEqual([
      '3:5: upstreams.api: missing key "url": expected a URL such as http://api.internal:3000',
    ]);
    expect(await diagnosticsIn(upstream('url: http://a', 'urls: ["http://b"]'))).toEqual([
      '3:5: upstreams.api: an upstream has "url" or "urls", not both: move the address into "urls"',
    ]);
  });

  it('are missed once where a misspelt key may be meant', async () => {
    expect(await diagnosticsIn(upstream('ulr: http://a'))).toEqual([
      expect.stringMatching(/^3:5: upstreams.api: unknown key "ulr", did you mean "url"/),
    ]);
  });

  it('are at least one', async () => {
    expect(await diagnosticsIn(upstream('urls: []'))).toEqual([
      expect.stringMatching(
        /^3:11: upstreams.api.urls: expected a list of addresses such as .*, found an empty list$/,
      ),
    ]);
  });

  it('are URLs, or maps with a URL and a weight', async () => {
    const lines = [
      'urls:',
      '  - 7',
      '  - { url: "http://a/x/" }',
      '  - { url: "http://b", weight: 0 }',
      '  - ftp://c',
    ];
    expect(await diagnosticsIn(upstream(...lines))).toEqual([
      expect.stringMatching(/^4:9: upstreams.api.urls\[0\]: expected a URL such as http:.* or a map such as/),
      expect.stringMatching(
        /^5:16: upstreams.api.urls\[1\].url: the URL of an upstream ends without a slash: write http:\/\/a\/x$/,
      ),
      expect.stringMatching(/^6:36: upstreams.api.urls\[2\].weight: expected a whole number from 1 to 1000/),
      expect.stringMatching(/^7:9: upstreams.api.urls\[3\]: expected a URL that starts with http:/),
    ]);
  });

  it('have one scheme', async () => {
    const lines = ['urls:', '  - http://a', '  - { url: "https://b" }', '  - http://c'];
    expect(await diagnosticsIn(upstream(...lines))).toEqual([
      '5:9: upstreams.api.urls[1]: all addresses of an upstream have one scheme: this one has https, the one in line 4 has http',
    ]);
  });

  it('have one path', async () => {
    const lines = ['urls:', '  - http://a/x', '  - { url: "http://b/y" }', '  - http://c', '  - http://d/x'];
    expect(await diagnosticsIn(upstream(...lines))).toEqual([
      '5:9: upstreams.api.urls[1]: all addresses of an upstream have one path: this one has /y, the one in line 4 has /x',
      '6:9: upstreams.api.urls[2]: all addresses of an upstream have one path: this one has none, the one in line 4 has /x',
    ]);
  });

  it('show no path that a variable holds', async () => {
    const lines = ['urls:', '  - http://a/x', `  - "\${URL}"`];
    expect(await diagnosticsIn(upstream(...lines), { URL: 'http://b/hidden' })).toEqual([
      '5:9: upstreams.api.urls[1]: all addresses of an upstream have one path: this one has another, the one in line 4 has /x',
    ]);
  });

  it('are listed once each, by name and port', async () => {
    const lines = ['urls:', '  - http://a', '  - http://a:81', '  - { url: "http://A:80", weight: 2 }'];
    expect(await diagnosticsIn(upstream(...lines))).toEqual([
      '6:9: upstreams.api.urls[2]: this address is already in line 4: give it a "weight" there instead',
    ]);
  });

  it('become endpoints with weights', async () => {
    const text = upstream(
      'urls: ["http://10.0.0.1", { url: "http://[::1]:81", weight: 3 }]',
      'balance: caller',
    );
    const result = await loadFiles({ 'gateway.yaml': text });
    expect(result.ok && result.snapshot.upstreams).toMatchObject([
      {
        endpoints: [
          { host: '10.0.0.1', port: 80, weight: 1 },
          { host: '::1', port: 81, weight: 3 },
        ],
        balance: 'caller',
      },
    ]);
  });

  it.each(['0x7f.1', '127.1', 'a..b'])('expect no server of the name %s', async name => {
    expect(await diagnosticsIn(upstream('urls: ["https://a"]', `tls: { server_name: "${name}" }`))).toEqual([
      expect.stringContaining(
        `upstreams.api.tls.server_name: expected the name of a host such as api.internal, found "${name}"`,
      ),
    ]);
  });

  it('need "tls" for https alone', async () => {
    expect(await diagnosticsIn(upstream('urls: ["http://a"]', 'tls: { server_name: b }'))).toEqual([
      expect.stringMatching(/^4:5: upstreams.api: "tls" has no effect without TLS/),
    ]);
  });
});

describe('backups', () => {
  it('are not all addresses of an upstream', async () => {
    const lines = ['urls:', '  - { url: "http://a", backup: true }', '  - { url: "http://b", backup: true }'];
    expect(await diagnosticsIn(upstream(...lines))).toEqual([
      expect.stringContaining('all addresses are backups'),
    ]);
    const one = ['urls:', '  - http://a', '  - { url: "http://b", backup: true }'];
    expect(await diagnosticsIn(upstream(...one))).toEqual([]);
  });
});
