import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKOUT } from './documents.ts';

/** What tests use of Grafana's form of a panel. */
export interface Panel {
  readonly type: 'row' | 'stat' | 'timeseries';
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly y: number; readonly w: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly {
      readonly name: string;
      readonly type: string;
      readonly query: unknown;
      readonly allValue?: string;
    }[];
  };
}

export const DASHBOARD: Dashboard = JSON.parse(
  readFileSync(join(CHECKOUT, 'helm/weir/files/dashboard.json'), 'utf8'),
);

/** A query as Grafana sends it, with all jobs and instances chosen. */
export function filledIn(expr: string): string {
  return expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(?:job|instance)\b/g, '.*');
}
