import { describe, expect, it } from 'vitest';
import { hasSettled } from '../../bench/measure/warm-up.ts';
import { amended } from '../../bench/report/amended.ts';
import { withResults } from '../../bench/report/markdown.ts';
import type { Report, Result } from '../../bench/report/result.ts';

describe('amending the published benchmark report', () => {
  const published = report({ pipeline: '2026-01-01', reload: '2026-01-01' });
  const order = ['pipeline', 'tls', 'reload'];

  it('replaces the scenarios that were measured again', () => {
    expect(dates(amended(published, report({ reload: '2026-02-02' }), order))).toEqual({
      pipeline: '2026-01-01',
      reload: '2026-02-02',
    });
  });

  it('adds a scenario that was never published, in its place', () => {
    const { results } = amended(published, report({ tls: '2026-02-02' }), order);
    expect(results.map(({ id }) => id)).toEqual(order);
  });

  it('refuses figures of another version', () => {
    const later = { ...report({ tls: '2026-02-02' }), versions: { Weir: '2' } };
    expect(() => amended(published, later, order)).toThrow('another machine, mode or version');
  });
});

describe('the published benchmark report', () => {
  it('says nothing of the load of a scenario that noted none', () => {
    const later = { ...report({ pipeline: '2026-01-01' }), results: [result('idle', '2026-02-02T10:00')] };
    const document = '<!-- results: written by npm run bench --><!-- end of results -->';
    expect(withResults(document, later)).toContain('- Measured by itself, later: 2026-02-02 10:00 UTC.\n');
  });
});

describe('the warm-up of a scenario', () => {
  it('goes on while the last two seconds were noticeably cheaper', () => {
    expect(hasSettled([60, 40])).toBe(false);
    expect(hasSettled([60, 40, 33])).toBe(false);
    expect(hasSettled([60, 40, 33, 30])).toBe(false);
  });

  it('ends once neither of them was, even if the first of them was disturbed', () => {
    expect(hasSettled([60, 40, 33, 30, 31, 29])).toBe(true);
    expect(hasSettled([60, 40, 33, 45, 32])).toBe(true);
  });
});

function report(dateById: Readonly<Record<string, string>>): Report {
  return {
    date: '2026-01-01',
    mode: 'full',
    rounds: 1,
    seconds: 1,
    machine: { processor: 'x', cores: 2, memoryGib: 1, system: 'y', loadAverage: 0 },
    versions: { Weir: '1' },
    results: Object.entries(dateById).map(([id, date]) => result(id, date)),
  };
}

function result(id: string, date: string): Result {
  const empty = { columns: [], rows: [], aims: [], notes: [], loadAverages: [] };
  return { id, date, title: id, meaning: '', how: '', ...empty };
}

function dates({ results }: Report): Readonly<Record<string, string>> {
  return Object.fromEntries(results.map(({ id, date }) => [id, date]));
}
