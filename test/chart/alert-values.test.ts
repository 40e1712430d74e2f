import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHART, Rendered } from './chart.ts';

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Group {
  readonly name: string;
  readonly rules: readonly Rule[];
}

const SHIPPED: readonly Group[] = parse(readFileSync(join(CHART, 'files/alerts.yaml'), 'utf8')).groups;

async function groupsWith(alerts: object): Promise<readonly Group[]> {
  const rendered = await Rendered.of({ alerts: { enabled: true, ...alerts } });
  return Object(rendered.one('PrometheusRule').at('spec')).groups;
}

const rulesIn = (groups: readonly Group[]) => groups.flatMap(({ rules }) => rules);

/** The alerts whose expression differs, with the numbers that only one of both has. */
async function changed(thresholds: object): Promise<Record<string, string[]>> {
  const before = new Map(rulesIn(SHIPPED).map(rule => [rule.alert, rule]));
  const differing = rulesIn(await groupsWith({ thresholds })).filter(
    ({ alert, expr }) => alert !== undefined && expr !== before.get(alert)?.expr,
  );
  return Object.fromEntries(
    differing.map(({ alert = '', expr }) => {
      const old = (before.get(alert)?.expr ?? '').split(/\s+/);
      const words = expr.split(/\s+/);
      expect(words).toHaveLength(old.length);
      return [alert, words.filter((word, index) => word !== old[index])];
    }),
  );
}

describe('the alerts', () => {
  it('are those of files/alerts.yaml by default', async () => {
    expect(await groupsWith({})).toEqual(SHIPPED);
  });

  it.each([
    [
      { failedRequests: 0.0005 },
      {
        WeirErrorBudgetBurnsFast: ['0.0072', '0.0072)', '0.003', '0.003)'],
        WeirErrorBudgetBurnsSlowly: ['0.0015', '0.0015)', '0.0005', '0.0005)'],
      },
    ],
    [
      { slowResponses: 0.05 },
      {
        WeirLatencyBudgetBurnsFast: ['0.72', '0.72)', '0.3', '0.3)'],
        WeirLatencyBudgetBurnsSlowly: ['0.15', '0.15)', '0.05', '0.05)'],
      },
    ],
    [{ upstreamFailures: 0.2 }, { WeirUpstreamFails: ['0.2'] }],
    [
      { providerFailures: 0.5 },
      {
        WeirSignInsFail: ['0.5'],
        WeirRefreshesFail: ['0.5'],
        WeirIntrospectionFails: ['0.5'],
        WeirNoticesRefused: ['0.5'],
      },
    ],
    [{ restrictions: 200 }, { WeirRestrictionsSurge: ['200'] }],
    [{ refusals: 0.3 }, { WeirRefusalsSurge: ['0.3'] }],
    [{ refusalsAfterReload: 0.4 }, { WeirRefusalsAfterReload: ['0.4'] }],
    [{ decisionsWithoutRedis: 0.25 }, { WeirDecidesWithoutRedis: ['0.25'] }],
    [{ nearLimit: 0.9 }, { WeirNearLimits: ['0.9'] }],
    [{ eventLoopDelaySeconds: 0.25 }, { WeirEventLoopIsSlow: ['0.25'] }],
    [{ certificateDays: 30 }, { WeirCertificateExpires: ['30'] }],
    [{ certificateDaysSoon: 7 }, { WeirCertificateExpires: ['7'], WeirCertificateExpiresSoon: ['7'] }],
    [
      { certificateDays: 21, certificateDaysSoon: 14 },
      { WeirCertificateExpires: ['21', '14'], WeirCertificateExpiresSoon: ['14'] },
    ],
  ])('have the thresholds of the values, and nothing else changes: %j', async (thresholds, expected) => {
    expect(await changed(thresholds)).toEqual(expected);
  });

  it('say the thresholds of the values in their summaries', async () => {
    const thresholds = { failedRequests: 0.005, slowResponses: 0.02, certificateDays: 30 };
    const summaries = rulesIn(await groupsWith({ thresholds })).map(
      rule => rule.annotations?.['summary'] ?? '',
    );
    expect(summaries.filter(text => /0\.5 %|2 %|30 days/.test(text))).toHaveLength(5);
    expect(summaries.filter(text => /0\.1 %|of 1 %|two weeks/.test(text))).toEqual([]);
  });

  it('have labels and annotations of the values, all of them or one, and another time', async () => {
    const groups = await groupsWith({
      ruleLabels: { team: 'edge' },
      ruleAnnotations: { chat: '#edge' },
      rules: { WeirNearLimits: { labels: { severity: 'info' }, annotations: { chat: '#api' }, for: '2h' } },
    });
    const shipped = new Map(rulesIn(SHIPPED).map(rule => [rule.alert, rule]));
    for (const rule of rulesIn(groups)) {
      const before = shipped.get(rule.alert);
      const isOne = rule.alert === 'WeirNearLimits';
      if (rule.alert === undefined) continue;
      expect(rule).toEqual({
        ...before,
        ...(isOne && { for: '2h' }),
        labels: { ...before?.labels, team: 'edge', ...(isOne && { severity: 'info' }) },
        annotations: { ...before?.annotations, chat: isOne ? '#api' : '#edge' },
      });
    }
    expect(rulesIn(groups).filter(({ alert }) => alert === undefined)).toEqual(
      rulesIn(SHIPPED).filter(({ alert }) => alert === undefined),
    );
  });

  it('say where their runbook is, below the address of the values', async () => {
    const alerts = rulesIn(await groupsWith({ runbookUrl: 'https://git.example.com/weir/' })).filter(
      ({ alert }) => alert !== undefined,
    );
    for (const { annotations = {} } of alerts)
      expect(annotations['runbook_url']).toBe(`https://git.example.com/weir/${annotations['runbook']}`);
  });

  it('are left out by name, and followed by groups of your own', async () => {
    const own = { name: 'own', rules: [{ alert: 'Own', expr: 'up{job="weir"} == 0' }] };
    const groups = await groupsWith({ disabled: ['WeirNearLimits', 'WeirCapMet'], groups: [own] });
    const names = rulesIn(groups).map(({ alert }) => alert);
    expect(names).not.toContain('WeirNearLimits');
    expect(names).toHaveLength(rulesIn(SHIPPED).length - 2 + 1);
    expect(groups.at(-1)).toEqual(own);
  });
});
