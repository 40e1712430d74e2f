import { describe, expect, it } from 'vitest';
import {
  findConflicts,
  parseGrpcPattern,
  parseRoutePattern,
  type RoutePattern,
  RouteTable,
} from '../../../../src/config/routing/index.ts';
import { pathCovers, Reach } from '../../../../src/config/routing/precedence.ts';
import { Random } from '../../../support/random.ts';

const SEGMENTS = ['a', 'b', '{x}', '**'];
const METHODS = [null, ['GET'], ['POST'], ['HEAD'], ['GET', 'POST'], ['HEAD', 'PUT']];
const PATHS = [0, 1, 2, 3].flatMap(length =>
  Array.from({ length: 3 ** length }, (_, number) => {
    const letters = Array.from({ length }, (__, place) => 'abc'.charAt(Math.floor(number / 3 ** place) % 3));
    return `/${letters.join('/')}`;
  }),
);

function randomPattern(random: Random): RoutePattern {
  const picked = Array.from({ length: random.below(4) }, () => random.pick(SEGMENTS));
  const rest = picked.indexOf('**');
  const segments = rest === -1 ? picked : picked.slice(0, rest + 1);
  const named = segments.map((text, index) => text.replace('x', `x${index}`));
  return parseRoutePattern(`/${named.join('/')}`, random.pick(METHODS));
}

function takers(line: string, ...routes: string[]): number[] {
  const read = (text: string) => {
    const [path = '', method] = text.split(' ').reverse();
    if (method === 'GRPC') return parseGrpcPattern(path);
    return parseRoutePattern(path, method === undefined ? null : [method]);
  };
  return new Reach(routes.map(read)).takersOf(read(line));
}

it('a pattern covers another exactly if it matches every path of it', () => {
  const random = new Random(3);
  const matched = (pattern: RoutePattern) => {
    const table = new RouteTable([{ pattern: { ...pattern, methods: null }, value: true }]);
    return PATHS.filter(path => table.find('GET', '', path) !== null);
  };
  for (let round = 0; round < 1_000; round++) {
    const [outer, inner] = [randomPattern(random), randomPattern(random)];
    const byOuter = new Set(matched(outer));
    const isCovered = matched(inner).every(path => byOuter.has(path));
    expect(pathCovers(outer, inner), `${outer.path} and ${inner.path}`).toBe(isCovered);
  }
});

describe('the routes that may take what a line matches', () => {
  it('are all that the route table picks for requests of the line', () => {
    const random = new Random(7);
    let seen = 0;
    for (let round = 0; round < 400; round++) {
      const routes = Array.from({ length: 4 }, () => randomPattern(random));
      if (findConflicts(routes).length > 0) continue;
      const line = randomPattern(random);
      const [table, ofLine] = [routes, [line]].map(
        patterns => new RouteTable(patterns.map((pattern, value) => ({ pattern, value }))),
      );
      const found = new Reach(routes).takersOf(line);
      for (const path of PATHS) {
        for (const method of ['GET', 'HEAD', 'POST', 'PUT']) {
          const winner = table?.find(method, '', path)?.value;
          if (winner === undefined || !ofLine?.find(method, '', path)) continue;
          seen++;
          if (!found.includes(winner)) expect.fail(`${line.path} ${method} ${path}: ${routes[winner]?.path}`);
        }
      }
    }
    expect(seen).toBeGreaterThan(1_000);
  });

  it('do not include one that another always goes before', () => {
    expect(takers('/a/b', '/**', '/a/**', '/a/b')).toEqual([2]);
    expect(takers('/a/{id}', '/**', '/a/{x}', '/a/b')).toEqual([1, 2]);
    expect(takers('GET /a', '/a', 'GET /a')).toEqual([1]);
    expect(takers('/a', '/a', 'GET /a')).toEqual([0, 1]);
    expect(takers('/a', '/a', '/a/**')).toEqual([0]);
    expect(takers('/a', '/a/b', '/a/**', '/**')).toEqual([1]);
    expect(takers('HEAD /a', '/a', 'GET /a')).toEqual([1]);
    expect(takers('/a/**', '/a/{x}', '/**')).toEqual([0, 1]);
  });

  it('are empty if no request matches both', () => {
    expect(takers('/a', '/b', '/a/{x}', '/{x}/**')).toEqual([2]);
    expect(takers('POST /a', 'GET /a', 'HEAD /a')).toEqual([]);
  });

  it('of gRPC calls are routes of gRPC alone', () => {
    expect(takers('GRPC a.B/C', '/**', 'POST /a.B/C', 'GRPC a.B/*', 'GRPC a.B/C')).toEqual([3]);
    expect(takers('GRPC a.B/D', '/**', 'GRPC a.B/*', 'GRPC a.B/C')).toEqual([1]);
    expect(takers('GRPC a.B/*', '/{x}/{y}', 'GRPC a.B/*', 'GRPC a.B/C', 'GRPC a.D/C')).toEqual([1, 2]);
    expect(takers('/**', 'GRPC a.B/*', '/a.B/C')).toEqual([1]);
    expect(takers('GRPC a.B/C', 'GRPC a.B/c')).toEqual([]);
  });
});
