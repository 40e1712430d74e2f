import { findConflicts, type RoutePattern, RouteTable } from '../../routing/index.ts';
import { asMap, type ConfigFile } from '../file/index.ts';

/** A route as it is written, with its patterns; none for one that is invalid in itself. */
interface Sketched {
  readonly patterns: readonly RoutePattern[];
  readonly redirect: unknown;
}

/** Warns about redirects to a path that the same route takes again: browsers give up after twenty rounds. */
export function checkRedirects(file: ConfigFile, routes: readonly Sketched[]): void {
  const targets = routes.flatMap(({ redirect, patterns }, index) => {
    const { to } = asMap(redirect);
    return typeof to === 'string' && to.startsWith('/') ? [{ index, to, patterns }] : [];
  });
  if (targets.length === 0) return;
  const entries = routes.flatMap(({ patterns }, value) => patterns.map(pattern => ({ pattern, value })));
  if (findConflicts(entries.map(({ pattern }) => pattern)).length > 0) return;
  const table = new RouteTable(entries);
  for (const { index, to, patterns } of targets) {
    if (!patterns.some(pattern => leadsTo(table, index, pattern, to))) continue;
    const message = 'this route takes that path itself, so that clients are sent in a circle';
    file.add(['routes', index, 'redirect', 'to'], message, { severity: 'warning' });
  }
}

/** Whether a request that follows the redirect takes the same route. A wildcard stands for any of its hosts. */
function leadsTo(
  table: RouteTable<number>,
  index: number,
  { methods, host }: RoutePattern,
  to: string,
): boolean {
  const path = to.split(/[?#]/)[0] ?? to;
  return table.find(methods?.[0] ?? 'GET', (host ?? '').replace('*', 'any'), path)?.value === index;
}
