import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { filledIn, readPanels } from '../../scripts/dashboard/dashboard.ts';
import { CHECKOUT } from '../support/documents.ts';
import { shownSamples } from '../support/everything-gateway.ts';
import { unknownIn } from '../support/promql.ts';
import { installPrometheus, promtool } from '../support/promtool.ts';
import { tempText } from '../support/temp.ts';

const PANELS = readPanels();
const TARGETS = PANELS.flatMap(({ title, targets = [] }) => targets.map(target => ({ title, ...target })));
const QUERIES = TARGETS.map(({ expr }) => filledIn(expr, '1m'));

beforeAll(installPrometheus, 300_000);

describe('the dashboard', () => {
  it('asks only for metrics and labels that a running gateway has shown', async () => {
    const samples = await shownSamples();
    expect(QUERIES.length).toBeGreaterThan(45);
    expect(QUERIES.flatMap(query => unknownIn(query, samples))).toEqual([]);
    const legends = TARGETS.map(({ expr, legendFormat }) => {
      const labels = Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label]) => label);
      return labels.length === 0
        ? ''
        : unknownIn(`sum by (${labels}) (${filledIn(expr, '1m')})`, samples).join();
    });
    expect(legends.filter(unknown => unknown !== '')).toEqual([]);
  });

  it('asks in PromQL that Prometheus understands', async () => {
    const rules = QUERIES.map((expr, i) => ({ record: `query:${i}`, expr }));
    const file = await tempText('queries.yaml', stringify({ groups: [{ name: 'queries', rules }] }));
    expect(promtool(['check', 'rules', file])).toMatchObject({ code: 0 });
  });

  it('leaves data source, job and instance to the operator, in every query', () => {
    const { templating } = JSON.parse(readFileSync(join(CHECKOUT, 'helm/weir/files/dashboard.json'), 'utf8'));
    expect(templating.list.map(({ name }: { name: string }) => name)).toEqual([
      'datasource',
      'job',
      'instance',
    ]);
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
    const { templating } = JSON.parse(readFileSync(join(CHECKOUT, 'helm/weir/files/dashboard.json'), 'utf8'));
    const queries = templating.list.filter(({ type }: { type: string }) => type === 'query');
    for (const { name, query, allValue } of queries)
      expect([name, query.query, allValue]).toEqual([
        name,
        expect.stringContaining('(weir_build_info'),
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

  it('has its picture in the documents, with each of its panels', () => {
    const picture = readFileSync(join(CHECKOUT, 'docs/images/dashboard.svg'), 'utf8');
    const missing = PANELS.filter(({ title }) => !picture.includes(`>${title}</text>`));
    expect(missing.map(({ title }) => title)).toEqual([]);
  });
});
