import { beforeAll, expect, it } from 'vitest';
import { DASHBOARD, filledIn } from '../support/dashboard.ts';
import { shownSamples } from '../support/everything-gateway.ts';
import { prometheusWith } from '../support/prometheus.ts';
import { installPrometheus } from '../support/promtool.ts';

const TARGETS = DASHBOARD.panels.flatMap(({ title, targets = [] }) =>
  targets.map(target => ({ title, ...target })),
);

beforeAll(installPrometheus);

it('the dashboard gets an answer to every query from a Prometheus that has scraped a gateway with every part', async () => {
  const prometheus = await prometheusWith(await shownSamples());
  const empty: string[] = [];
  for (const { title, expr, legendFormat } of TARGETS) {
    const answer = await prometheus.ask(filledIn(expr));
    if (answer.length === 0) empty.push(`${title}, ${legendFormat}: ${expr}`);
  }
  expect(empty).toEqual([]);
});
