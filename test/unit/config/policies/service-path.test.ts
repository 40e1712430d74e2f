import { describe, expect, it } from 'vitest';
import { diagnosticsIn } from '../../../support/config-text.ts';

const UPSTREAM = 'upstreams: { api: { url: "http://api:3000" } }\n';
const route = (path: string, prefix: string) =>
  `${UPSTREAM}routes:\n  - path: ${path}\n    strip_prefix: ${prefix}\n    upstream: api\n    authentication: none\n`;
const found = async (path: string, prefix: string, env = {}) =>
  (await diagnosticsIn(route(path, prefix), env)).map(line =>
    line.replace('4:19: routes[0].strip_prefix: ', ''),
  );

describe('strip_prefix', () => {
  it.each([
    ['/api/**', '/api'],
    ['/api', '/api'],
    ['/API/v1/{id}', '/api'],
    ['/api/**', '/API'],
    ['/api/v1/**', '/api/v1'],
    ['/caf%C3%A9/**', '/caf%C3%A9'],
  ])('takes literal segments of its route away: of %s %s', async (path, prefix) => {
    expect(await found(path, prefix)).toEqual([]);
  });

  const NOT = 'the path of this route, in line 3, does not begin with';

  it.each([
    ['/api/**', '/apis', `${NOT} "/apis": write /api`],
    ['/api/v1/**', '/ap', `${NOT} "/ap": write /api`],
    ['/api/v1/**', '/api/v2', `${NOT} "/api/v2": write /api/v1`],
    ['/api/{id}/x', '/api/x', `${NOT} "/api/x": write /api`],
    ['/api/**', '/api/v1', `${NOT} "/api/v1": write /api`],
    ['/**', '/api', `${NOT} "/api": leave it out`],
    ['/api/**', '/api/', 'a prefix ends without a slash: write "/api"'],
    ['/api/**', '/', 'a prefix has a segment at least: leave it out'],
    ['/api/**', 'api', 'a path starts with "/": write "/api"'],
    ['/api/**', '/api//v1', 'it has an empty segment: write "/api/v1"'],
    ['/api/**', '/api/**', 'a prefix is the same for all requests: write it without {parameters} and **'],
    [
      '/api/{id}',
      '"/api/{id}"',
      'a prefix is the same for all requests: write it without {parameters} and **',
    ],
    ['/api/**', '7', 'expected segments of a path such as /api, found 7'],
  ])('of %s is no %s', async (path, prefix, message) => {
    expect(await found(path, prefix)).toEqual([message]);
  });

  it('shows nothing that a variable holds', async () => {
    expect(
      await found('"\u{24}{PATHS}"', '"\u{24}{PREFIX}"', { PATHS: '/hidden/**', PREFIX: '/secret' }),
    ).toEqual([`${NOT} "\${PREFIX}"`]);
  });

  it('is nothing of gRPC calls', async () => {
    const text = `${route('/a', '/a').replace('path: /a', 'grpc: a.B/C').replace('3000"', '3000", protocol: grpc')}listen: { grpc: "127.0.0.1:1" }\n`;
    expect(await diagnosticsIn(text)).toEqual([
      '4:5: routes[0]: "strip_prefix" does not apply to gRPC calls: leave it out',
    ]);
  });
});
