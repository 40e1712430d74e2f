import { expect, test } from 'vitest';
import { parseRoutePattern, type RoutePattern } from '../../../../src/config/routing/index.ts';
import { RouteCandidates } from '../../../../src/config/routing/precedence.ts';
import { Random } from '../../../support/random.ts';

/** Whether some path matches both, found by a look at every segment. */
function meet({ segments: a }: RoutePattern, { segments: b }: RoutePattern): boolean {
  for (let i = 0; ; i++) {
    const [one, other] = [a[i], b[i]];
    if (one?.kind === 'tail' || other?.kind === 'tail') return true;
    if (one === undefined || other === undefined) return one === other;
    if (one.kind === 'literal' && other.kind === 'literal' && one.folded !== other.folded) return false;
  }
}

function randomPattern(random: Random): RoutePattern {
  const picked = Array.from({ length: random.below(5) }, () => random.pick(['a', 'b', 'B', '{x}', '**']));
  const rest = picked.indexOf('**');
  const segments = rest === -1 ? picked : picked.slice(0, rest + 1);
  return parseRoutePattern(`/${segments.map((text, i) => text.replace('x', `x${i}`)).join('/')}`, null);
}

test('the candidates of a pattern are the routes that share a path with it, each once and in order', () => {
  const random = new Random(11);
  let seen = 0;
  for (let round = 0; round < 2_000; round++) {
    const routes = Array.from({ length: 12 }, () => randomPattern(random));
    const candidates = new RouteCandidates(routes);
    const pattern = randomPattern(random);
    const expected = routes.flatMap((route, index) => (meet(route, pattern) ? [index] : []));
    expect(
      candidates.overlapping(pattern),
      `${pattern.path} among ${routes.map(({ path }) => path)}`,
    ).toEqual(expected);
    seen += expected.length;
  }
  expect(seen).toBeGreaterThan(2_000);
});

test('a pattern of literals has no candidates among ten thousand others', () => {
  const routes = Array.from({ length: 10_000 }, (_, n) => parseRoutePattern(`/v1/service-${n}/**`, null));
  const candidates = new RouteCandidates(routes);
  for (let n = 0; n < 10_000; n++)
    expect(candidates.overlapping(parseRoutePattern(`/v1/service-${n}/things`, null))).toEqual([n]);
});
