import { describe, expect, it } from 'vitest';
import { DASHBOARD, filledIn } from '../support/dashboard.ts';
import { shownSamples } from '../support/everything-gateway.ts';
import { type Sample, unknownIn } from '../support/promql.ts';

const { panels: PANELS, templating } = DASHBOARD;
const TARGETS = PANELS.flatMap(({ title, targets = [] }) => targets.map(target => ({ title, ...target })));
const QUERIES = TARGETS.map(({ expr }) => filledIn(expr));

let shown: Promise<readonly Sample[]> | null = null;
/** One gateway shows them, for all tests here. */
function samplesOfAll(): Promise<readonly Sample[]> {
  shown ??= shownSamples();
  return shown;
}

describe('the dashboard', () => {
  it('asks only for metrics and labels that a running gateway has shown', async () => {
    const samples = await samplesOfAll();
    expect(QUERIES.length).toBeGreaterThan(45);
    expect(QUERIES.flatMap(query => unknownIn(query, samples))).toEqual([]);
    const legends = TARGETS.map(({ expr, legendFormat }) => {
      const labels = Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label]) => label);
      return labels.length === 0 ? '' : unknownIn(`sum by (${labels}) (${filledIn(expr)})`, samples).join();
    });
    expect(legends.filter(unknown => unknown !== '')).toEqual([]);
  });

  it('leaves data source, job and instance to the operator, in every query', () => {
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'instance']);
    for (const { expr } of TARGETS) {
      const selectors = expr.match(/\b(?:weir|nodejs|process)_\w+/g) ?? [];
      expect([expr, expr.split('{job=~"$job", instance=~"$instance"').length]).toEqual([
        expr,
        selectors.length + 1,
      ]);
    }
  });

  // With an allValue of ".*", the panels of process_* and nodejs_* would show every program that Prometheus knows.
  it('shows only gateways when all jobs and instances are chosen', () => {
    const queries = templating.list.filter(({ type }) => type === 'query');
    expect(queries.map(({ name }) => name)).toEqual(['job', 'instance']);
    for (const { query, allValue } of queries)
      expect([query, allValue]).toEqual([
        expect.objectContaining({ query: expect.stringContaining('(weir_build_info') }),
        undefined,
      ]);
  });

  it('says of each panel what it shows and in which unit, and fills each row of the grid', () => {
    const units = ['reqps', 'percentunit', 's', 'short', 'Bps', 'bytes'];
    for (const { type, title, description, fieldConfig } of PANELS)
      if (type !== 'row')
        expect([title, description, units]).toEqual([
          title,
          expect.stringMatching(/\.$/),
          expect.arrayContaining([fieldConfig?.defaults.unit]),
        ]);
    const rows = Map.groupBy(PANELS, ({ gridPos }) => gridPos.y);
    const widths = [...rows.values()].map(row => row.reduce((sum, { gridPos }) => sum + gridPos.w, 0));
    expect(new Set(widths)).toEqual(new Set([24]));
  });
});
