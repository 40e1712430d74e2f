import { describe, expect, it } from 'vitest';
import { parseHostPort } from '../../../../src/config/values/addresses.ts';
import { formatHostPort } from '../../../../src/core/index.ts';

describe('parseHostPort', () => {
  it.each([
    ['0.0.0.0:8080', '0.0.0.0', 8080],
    ['localhost:0', 'localhost', 0],
    ['api.default.svc:65535', 'api.default.svc', 65535],
    ['user_service:3000', 'user_service', 3000],
    ['[::1]:9090', '::1', 9090],
    ['[::ffff:10.0.0.1]:80', '::ffff:10.0.0.1', 80],
  ])('reads %s', (text, host, port) => {
    expect(parseHostPort(text)).toEqual({ host, port });
  });

  it.each([
    '',
    ':8080',
    '8080',
    'localhost',
    'localhost:',
    'localhost:65536',
    'localhost:-1',
    'localhost:http',
    '::1:8080',
    '[::1]',
    '[::g]:80',
    '[10.0.0.1]:80',
    '256.0.0.1:80',
    '10.1:80',
    '0x7f.1:80',
    'a..b:80',
    '-a:80',
    'a-:80',
    'a b:80',
    'a/b:80',
    `${'a'.repeat(64)}:80`,
  ])('takes %j for no host and port', text => {
    expect(parseHostPort(text)).toBeUndefined();
  });

  it('takes a default port where one is given', () => {
    expect(parseHostPort('api', 80)).toEqual({ host: 'api', port: 80 });
    expect(parseHostPort('api:81', 80)).toEqual({ host: 'api', port: 81 });
  });
});

describe('formatHostPort', () => {
  it.each(['0.0.0.0:8080', '[::1]:9090', 'api:80'])('writes %s as it was read', text => {
    expect(formatHostPort(parseHostPort(text) ?? { host: '', port: 0 })).toBe(text);
  });
});
