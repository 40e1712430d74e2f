import { expect, test } from 'vitest';
import { PathWords, parseGrpcPattern, parseRoutePattern } from '../../../../src/config/routing/index.ts';

const words = new PathWords([
  parseRoutePattern('/v1/channels/{channel}/messages', null),
  parseRoutePattern('/v1/Things%7Ball/**', null),
  parseRoutePattern('/v1/@me:all', null),
  parseRoutePattern('/**', null),
  parseGrpcPattern('shop.Orders/Place'),
]);

const written = (path: string, isCall = false) => words.rewrite(path, isCall, value => `#${value}`);

test.each([
  ['/', '/'],
  ['/v1/channels/7/messages', '/v1/channels/{#7}/messages'],
  ['/v1/channels/7/messages/', '/v1/channels/{#7}/messages/'],
  ['/V1/CHANNELS/7/Messages', '/v1/channels/{#7}/messages'],
  ['/v1/channels;x=secret/7/messages', '/v1/channels/{#7}/messages'],
  ['/v1/messages/7', '/v1/{#messages}/{#7}'],
  ['/v1/things%7Ball/7', '/v1/things%7Ball/{#7}'],
  ['/v1/%40me:all', '/v1/@me:all'],
  ['/%FF/channels', '/{#%FF}/channels'],
  ['/{channel}/x', '/{#{channel}}/{#x}'],
  ['/shop.Orders/Place', '/{#shop.Orders}/{#Place}'],
])('of %s the log has %s', (path, expected) => {
  expect(written(path)).toBe(expected);
});

test('words of gRPC count letter by letter, for calls alone', () => {
  expect(written('/shop.Orders/Place', true)).toBe('/shop.Orders/Place');
  expect(written('/shop.Orders/place', true)).toBe('/shop.Orders/{#place}');
  expect(written('/v1/channels', true)).toBe('/{#v1}/{#channels}');
});

test('what follows the first sixteen segments is one value', () => {
  const names: string[] = [];
  words.rewrite(`/${'a/'.repeat(4_000)}`, false, value => {
    names.push(value);
    return '#';
  });
  expect(names).toHaveLength(17);
});
