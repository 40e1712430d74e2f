import { expect, test } from 'vitest';
import { addressError } from '../../../../src/identity/signin/provider.ts';

test.each([
  ...['https://id.example.com/realms/main', 'http://localhost:8080/', 'http://127.0.0.1:1/'],
  ...['http://127.9.9.9/', 'http://[::1]:8080/', 'HTTPS://ID.example'],
])('%s may be used', address => expect(addressError(address, false)).toBeUndefined());

test.each([
  ...['http://id.example.com/', 'http://127.0.0.1.example.com/', 'http://127.evil.example/'],
  ...['http://localhost.example/', 'http://10.0.0.1/', 'http://[::2]/', 'http://0.0.0.0/'],
])('%s may be used only where plain http is allowed', address => {
  expect(addressError(address, false)).toContain('allow_http');
  expect(addressError(address, true)).toBeUndefined();
});

test.each([
  ['', 'is not an absolute URL'],
  ['/realms/main', 'is not an absolute URL'],
  ['id.example.com', 'is not an absolute URL'],
  ['ftp://id.example.com', 'must begin with https://'],
  ['javascript:alert(1)', 'must begin with https://'],
  ['https://user:secret@id.example.com', 'must not contain a user name or password'],
  ['https://id.example.com/#x', 'must not have a fragment'],
  ['http://2130706433/', 'has an IPv4 address in an unusual form: write 127.0.0.1'],
  ['https://0x7f.1/realms/main', 'has an IPv4 address in an unusual form: write 127.0.0.1'],
  ['https://010.0.0.1:8443/', 'has an IPv4 address in an unusual form: write 8.0.0.1'],
  ['https://10.0.0.1./', 'has an IPv4 address in an unusual form: write 10.0.0.1'],
  ['https:\\\\10.1', 'has an IPv4 address in an unusual form: write 10.0.0.1'],
])('%j may not be used', (address, error) => expect(addressError(address, true)).toBe(error));
