import { describe, expect, it } from 'vitest';
import { diagnosticsIn, NEEDED } from '../../../support/config-text.ts';

/** A line of gateway.yaml with a value in place of "VALUE", and what is needed beside it. */
function withValue(line: string, value: string): string {
  return `${line.replace('VALUE', value)}\n${line.includes('upstreams:') ? '' : NEEDED}`;
}

const TIME = 'timeouts: { client_body: VALUE }';
const SIZE = 'caps: { head: VALUE }';
const COUNT = 'caps: { requests: VALUE }';
const TRUTH = 'log: { access: VALUE }';
const HTTP = 'listen: { http: VALUE }';
const ADMIN = 'listen: { admin: VALUE }';
const ORIGIN = 'cors: { origins: [VALUE] }';
const API = 'routes: [{ path: /**, upstream: api, authentication: none }]\nupstreams: { api: VALUE }';

describe('an unexpected value is reported with a suggestion', () => {
  it.each([
    [TIME, '10 s', '10s'],
    [TIME, '10sec', '10s'],
    [TIME, '5 minutes', '5m'],
    [TIME, '2Hours', '2h'],
    [TIME, '1.5s', '1500ms'],
    [TIME, '0.5h', '1800000ms'],
    [TIME, '1d', '24h'],
    [SIZE, '16384', '16KiB'],
    [SIZE, '16k', '16KiB'],
    [SIZE, '16KB', '16KiB'],
    [SIZE, '16 KiB', '16KiB'],
    [SIZE, '1500', '1500B'],
    [SIZE, '1m', '1MiB'],
    [COUNT, '10_000', '10000'],
    [COUNT, '"10,000"', '10000'],
    [COUNT, '10k', '10000'],
    [TRUTH, 'yes', 'true'],
    [TRUTH, 'On', 'true'],
    [TRUTH, 'off', 'false'],
    [TRUTH, '0', 'false'],
    [HTTP, '8080', '0.0.0.0:8080'],
    [HTTP, '":8080"', '0.0.0.0:8080'],
    [HTTP, '"*:8080"', '0.0.0.0:8080'],
    [HTTP, 'http://127.0.0.1:8080/', '127.0.0.1:8080'],
    [ADMIN, '9091', '127.0.0.1:9091'],
    [ORIGIN, 'app.example.com', 'https://app.example.com'],
    [ORIGIN, '"https://App.example.com/"', 'https://app.example.com'],
    [ORIGIN, '"http://localhost:3000/app"', 'http://localhost:3000'],
    ['cors: { origins: VALUE }', '"https://a.example"', '[https://a.example]'],
    ['trusted_proxies: VALUE', '10.1.0.0/16', '[10.1.0.0/16]'],
    ['trusted_proxies: VALUE', '"10.1.0.0/16, 10.2.0.0/16"', '[10.1.0.0/16, 10.2.0.0/16]'],
    [API, 'http://api:3000', '{ url: "http://api:3000" }'],
    [API, '{ url: "api:3000" }', 'http://api:3000'],
  ])('%s with %s: %s, and that is accepted', async (line, value, meant) => {
    const [diagnostic = '', ...others] = await diagnosticsIn(withValue(line, value));
    expect(others).toEqual([]);
    expect(diagnostic).toContain(`, did you mean ${meant}?`);
    const mended = value.startsWith('{ url') ? `{ url: "${meant}" }` : meant;
    expect(await diagnosticsIn(withValue(line, mended))).toEqual([]);
  });

  it.each([
    [TIME, '10', ': add a unit, such as 10ms or 10s'],
    [HTTP, '70000', ': the highest port is 65535'],
    [HTTP, '127.0.0.1:85800', ': the highest port is 65535'],
    [ADMIN, '"[::1]:99999"', ': the highest port is 65535'],
    [API, '{ url: "http://api:85800" }', ': the highest port is 65535'],
    [HTTP, '"[::]"', ': the port is missing, such as :8080'],
    [HTTP, '127.0.0.1', ': the port is missing, such as :8080'],
    [COUNT, '"100"', ': write 100 without quotes'],
    [TRUTH, '"false"', ': write false without quotes'],
    [ORIGIN, '"*"', ': to allow every page, write "origins: any"'],
    [ORIGIN, '"https://*.example.com"', ': list each origin, patterns are not supported'],
    [
      'cors: { origins: any, allow_headers: [VALUE] }',
      '"*"',
      ': to allow all, write any in place of the list',
    ],
    ['trusted_proxies: [VALUE]', '"*"', ': list the networks themselves'],
    ['trusted_proxies: [VALUE]', 'lb.internal', ': names are not looked up, write the address'],
    [
      `${API.replace('path: /**', 'path: /**, methods: [VALUE]').replace(/VALUE }$/, '{ url: "http://a" } }')}`,
      '"*"',
      ': leave out "methods" to match every method',
    ],
  ])('%s with %s: %s', async (line, value, advice) => {
    const [diagnostic, ...others] = await diagnosticsIn(withValue(line, value));
    expect(others).toEqual([]);
    expect(diagnostic?.endsWith(advice), diagnostic).toBe(true);
  });

  it.each([
    [TIME, 'soon'],
    [TIME, '2d'],
    [TIME, '-1s'],
    [TIME, '0:10'],
    [SIZE, 'many'],
    [COUNT, 'unlimited'],
    [COUNT, '5000000'],
    [COUNT, '-1'],
    [TRUTH, 'maybe'],
    [ORIGIN, '"null"'],
    [ORIGIN, '"::"'],
    [ORIGIN, `"${'a'.repeat(200)}.example"`],
    ['routes: VALUE\nupstreams: {}', '/v1/**'],
  ])("%s with %s: it is anyone's guess", async (line, value) => {
    const [diagnostic, ...others] = await diagnosticsIn(withValue(line, value));
    expect(others).toEqual([]);
    expect(diagnostic).toMatch(/, found ("[^"]*"|-?\d+)$/);
  });
});
