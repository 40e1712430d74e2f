import { describe, expect, it } from 'vitest';
import { hasAnyPort, RedirectUris } from '../../../../src/identity/signin/redirect-uris.ts';

const listed = new RedirectUris([
  ...['https://app.example/cb', 'com.example.app:/cb', 'http://127.0.0.1:*/cb?app=1', 'http://[::1]:*'],
]);

describe('a redirect URI on a port of loopback', () => {
  it.each([
    ...['http://127.0.0.1:1/cb?app=1', 'http://127.0.0.1:51004/cb?app=1', 'http://127.0.0.1:65535/cb?app=1'],
    ...['http://[::1]:8080', 'https://app.example/cb', 'com.example.app:/cb'],
  ])('is allowed: %s', uri => {
    expect(listed.allows(uri)).toBe(true);
  });

  it.each([
    ...['http://127.0.0.1:0/cb?app=1', 'http://127.0.0.1:65536/cb?app=1', 'http://127.0.0.1:080/cb?app=1'],
    ...['http://127.0.0.1:123456/cb?app=1', 'http://127.0.0.1:/cb?app=1', 'http://127.0.0.1/cb?app=1'],
    ...['http://127.0.0.1:*/cb?app=1', 'http://127.0.0.1:8\u0660/cb?app=1', 'http://127.0.0.1: 80/cb?app=1'],
    ...['http://127.0.0.1:80\n/cb?app=1', 'http://127.0.0.1:80@evil.example/cb?app=1'],
    ...['http://127.0.0.1:80/other/cb?app=1', 'http://127.0.0.1:80.evil.example/cb?app=1'],
    ...['http://127.0.0.1:80/cb', 'http://127.0.0.1:80/cb?app=1&code=x', 'http://127.0.0.1:80/cb?app=1#a'],
    ...['https://127.0.0.1:80/cb?app=1', 'HTTP://127.0.0.1:80/cb?app=1', 'http://127.1:80/cb?app=1'],
    ...['http://localhost:80/cb?app=1', 'http://[::1]:80/', 'http://[::1]:80/cb?app=1'],
    ...['http://[0:0:0:0:0:0:0:1]:80', 'https://app.example:443/cb'],
  ])('is not allowed: %j', uri => {
    expect(listed.allows(uri)).toBe(false);
  });

  it.each([
    ['http://127.0.0.1:*/cb', true],
    ['http://[::1]:*/cb', true],
    ['http://127.0.0.1:*', true],
    ['https://127.0.0.1:*/cb', false],
    ['http://localhost:*/cb', false],
    ['http://localhost.example:*/cb', false],
    ['http://127.0.0.2:*/cb', false],
    ['http://app.example:*/cb', false],
    ['http://127.0.0.1:*.evil.example/cb', false],
    ['http://127.0.0.1:*0/cb', false],
    ['http://127.0.0.1:8*/cb', false],
    ['http://a@127.0.0.1:*/cb', false],
  ])('is meant by %s: %s', (uri, meant) => {
    expect(hasAnyPort(uri)).toBe(meant);
    // What has no such port stands for itself alone.
    if (!meant) expect(new RedirectUris([uri]).allows(uri.replace('*', '80'))).toBe(false);
  });
});
