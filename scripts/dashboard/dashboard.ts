import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DASHBOARD = join(import.meta.dirname, '../../helm/weir/files/dashboard.json');

/** What is used of Grafana's form of a panel. */
export interface Panel {
  readonly type: 'row' | 'stat' | 'timeseries';
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit: string;
      readonly max?: number;
      readonly decimals?: number;
      readonly thresholds: {
        readonly steps: readonly { readonly color: string; readonly value: number | null }[];
      };
      readonly custom?: { readonly stacking: { readonly mode: string } };
    };
  };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

export function readPanels(): readonly Panel[] {
  return JSON.parse(readFileSync(DASHBOARD, 'utf8')).panels;
}

/** A query as Grafana sends it, with all jobs and instances chosen. */
export function filledIn(expr: string, rateInterval: string): string {
  return expr.replaceAll('$__rate_interval', rateInterval).replaceAll(/\$(?:job|instance)\b/g, '.*');
}
