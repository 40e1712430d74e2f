import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHECKOUT, documentNamed } from '../support/documents.ts';
import { shownMetrics, shownSamples } from '../support/everything-gateway.ts';
import { unknownIn } from '../support/promql.ts';
import { installPrometheus, promtool } from '../support/promtool.ts';

const FILE = join(CHECKOUT, 'helm/weir/files/alerts.yaml');
const TESTS = readdirSync(join(CHECKOUT, 'test/alerts')).map(name => join(CHECKOUT, 'test/alerts', name));

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const GROUPS: readonly { readonly rules: readonly Rule[] }[] = parse(readFileSync(FILE, 'utf8')).groups;
const RULES = GROUPS.flatMap(({ rules }) => rules);
const ALERTS = RULES.filter(({ alert }) => alert !== undefined);
const RECORDS = RULES.flatMap(({ record }) => record ?? []);

beforeAll(installPrometheus);

describe('the alerts', () => {
  it('pass the check of promtool without a remark', () => {
    const { code, said } = promtool(['check', 'rules', FILE]);
    expect([code, said.split('\n').slice(1)]).toEqual([0, [`  SUCCESS: ${RULES.length} rules found`]]);
  });

  it('are of metrics that pass the check of promtool without a remark, and all have a help text', async () => {
    expect(promtool(['check', 'metrics'], await shownMetrics())).toEqual({ code: 0, said: '' });
  });

  it.each(TESTS.map(file => [file.slice(CHECKOUT.length + 1), file] as const))(
    'fire and stay silent as %s says',
    (_name, file) => {
      expect(promtool(['test', 'rules', file])).toEqual({
        code: 0,
        said: expect.stringContaining('SUCCESS'),
      });
    },
  );

  it('each have a case in which they fire and one in which they stay silent', () => {
    const cases = TESTS.flatMap(file => parse(readFileSync(file, 'utf8')).tests).map(({ name }) =>
      String(name),
    );
    const missing = ALERTS.filter(
      ({ alert }) =>
        !cases.some(name => name.startsWith(`${alert} fires`)) ||
        !cases.some(name => name.startsWith(`${alert} stays silent`)),
    );
    expect(missing.map(({ alert }) => alert)).toEqual([]);
  });

  it('name only metrics and labels that a running gateway has shown', async () => {
    const samples = await shownSamples();
    const exprs = RULES.map(({ expr }) => expr).filter(
      expr => !RECORDS.some(record => expr.includes(record)),
    );
    expect(exprs.length).toBeGreaterThan(25);
    expect(exprs.flatMap(expr => unknownIn(expr, samples))).toEqual([]);
  });

  it('use records that exist, and all of them', () => {
    const used = RULES.flatMap(({ expr }) => expr.match(/\bweir:\w+(?::\w+)?/g) ?? []);
    expect(new Set(used)).toEqual(new Set(RECORDS));
  });

  it('each have a severity, a summary, a section that says what to do, and a row in their table', () => {
    const table = documentNamed('docs/alerts.md').text;
    for (const { alert, labels, annotations } of ALERTS) {
      const [file, anchor = ''] = annotations?.['runbook']?.split('#') ?? [];
      expect([alert, documentNamed(file ?? '').anchors.has(anchor)]).toEqual([alert, true]);
      const row = table.split('\n').find(line => line.startsWith(`| \`${alert}\` |`)) ?? '';
      expect(row).toContain(`| ${labels?.['severity']} |`);
      expect(row).toContain(`#${anchor})`);
      expect(annotations?.['summary']).toMatch(/^[A-Z].+[^.]$/);
    }
    expect(table.match(/^\| `Weir/gm)).toHaveLength(ALERTS.length);
  });
});
