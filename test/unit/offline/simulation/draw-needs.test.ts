import { describe, expect, it } from 'vitest';
import { renderNeeds } from '../../../../src/offline/simulation/index.ts';

const panel = (
  needs: readonly number[],
  suggested: number,
  now: number | null = null,
  title = 'messages',
) => ({ ...{ title, needs: Uint32Array.from(needs), suggested, now } });

/** The points of the line in a colour, in parts of its plot: from the left and from the top. */
function lineOf(svg: string, colour: string): [number, number][] {
  const [, path = ''] = new RegExp(`<polyline points="([^"]*)"[^>]*stroke="${colour}"`).exec(svg) ?? [];
  return path.split(' ').map(point => {
    const [x, y] = point.split(',').map(Number);
    return [round(((x ?? 0) - 56) / 318), round(((y ?? 0) - 40) / 144)];
  });
}

const round = (value: number) => Math.round(value * 100) / 100;
const [NEEDS, SUGGESTED, NOW] = ['#52606d', '#d9480f', '#2f6fde'];

describe('the picture of what callers need', () => {
  it('steps down at each number by the callers that it suffices for', () => {
    const tenth = [...Array<number>(9).fill(1), 100];
    const svg = renderNeeds([panel(tenth, 10, 100)]);
    // Three decades and a margin for none.
    const decade = round(1 / 3.15);
    expect(lineOf(svg, NEEDS)).toEqual([
      ...[[0, 0] as const, [0, 0] as const, [0, decade] as const, [1, decade] as const, [1, 1] as const],
    ]);
    expect(lineOf(svg, SUGGESTED)).toEqual([
      [0.5, 0],
      [0.5, 1],
    ]);
    expect(lineOf(svg, NOW)).toEqual([
      [1, 0],
      [1, 1],
    ]);
  });

  it('has no more steps than pixels, and ends at the bottom', () => {
    const svg = renderNeeds([panel(Array.from({ length: 60_000 }, (_, i) => i + 1).toSorted(), 5)]);
    const line = lineOf(svg, NEEDS);
    expect(line.length).toBeLessThan(700);
    expect(line.at(-1)).toEqual([1, 1]);
    expect(svg.length).toBeLessThan(20_000);
  });

  it('keeps the values of two numbers that are close apart from each other', () => {
    const anchors = (now: number) =>
      Array.from(renderNeeds([panel([9], 10, now)]).matchAll(/text-anchor="(\w+)">(\d+)</g), ([, a, n]) => [
        a,
        n,
      ])
        .filter(([, n]) => n === '10' || n === String(now))
        .map(([anchor]) => anchor);
    expect(anchors(11)).toEqual(expect.arrayContaining(['end', 'start']));
    expect(anchors(60_000)).not.toContain('start');
  });

  it('shows any name of a bucket as text, cut where it has no room', () => {
    const svg = renderNeeds([panel([1], 1, 1, '<script>&'), panel([1], 1, null, 'x'.repeat(500))]);
    expect(svg).toContain('>&#60;script&#62;&#38;<');
    expect(svg).toContain(`>${'x'.repeat(49)}…<`);
  });

  it.each([
    ['nothing', []],
    ['no callers', [panel([], 1)]],
    ['the highest number', [panel([65_535], 65_535, 65_535)]],
  ])('can show %s', (_, panels) => {
    expect(renderNeeds(panels)).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('says how many are left out where there are too many', () => {
    const svg = renderNeeds(Array.from({ length: 63 }, () => panel([1], 1)));
    expect(svg.match(/<g /g)).toHaveLength(60);
    expect(svg).toContain('3 more are not drawn');
  });
});
