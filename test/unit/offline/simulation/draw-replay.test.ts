import { describe, expect, it } from 'vitest';
import { renderReplay } from '../../../../src/offline/simulation/index.ts';

const point = (requests: number, before = 0, after = 0) => ({ requests, before, after });

function draw(points: readonly ReturnType<typeof point>[], pointMs: number, lastedMs: number): string {
  const startMs = Date.UTC(2026, 0, 1);
  return renderReplay({ points: [...points], pointMs, startMs, endMs: startMs + lastedMs });
}

/** The heights of a line, in parts of the whole. */
function heights(svg: string, colour: string): number[] {
  const [, path = ''] = new RegExp(`<polyline points="([^"]*)"[^>]*stroke="${colour}"`).exec(svg) ?? [];
  return path.split(' ').map(at => Math.round(((260 - Number(at.split(',')[1])) / 210) * 100) / 100);
}

const numbersBeside = (svg: string) =>
  Array.from(svg.matchAll(/text-anchor="end">([\d,]+)</g), ([, text]) => text);

const [REQUESTS, AFTER] = ['#9aa5b1', '#d9480f'];

describe('the picture of a replay', () => {
  it('shows rates per second, on a grid of round numbers', () => {
    const svg = draw([point(5_600), point(2_800, 0, 1_400)], 2_000, 4_000);
    expect(numbersBeside(svg)).toEqual(['0', '1,000', '2,000', '3,000']);
    expect(heights(svg, REQUESTS)).toEqual([0.93, 0.47]);
    expect(heights(svg, AFTER)).toEqual([0, 0.23]);
  });

  it('measures the last point by the time that it covers, or leaves it out if that says nothing', () => {
    expect(heights(draw([point(400), point(300)], 4_000, 7_000), REQUESTS)).toEqual([1, 1]);
    expect(heights(draw([point(400), point(90)], 4_000, 5_000), REQUESTS)).toEqual([1]);
  });

  it.each([
    ['nothing', [], ['0', '1']],
    ['one request', [point(1)], ['0', '1']],
    ['very many', [point(70_000_000)], ['0', '20,000,000', '40,000,000', '60,000,000', '80,000,000']],
  ])('can show %s', (_, points, numbers) => {
    const svg = draw(points, 1_000, 0);
    expect(numbersBeside(svg)).toEqual(numbers);
    expect(svg).not.toMatch(/NaN|Infinity/);
  });
});
