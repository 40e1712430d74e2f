import { findConflicts, type RoutePattern, RouteTable } from '../../routing/index.ts';
import { asMap, type ConfigFile } from '../file/index.ts';
import { writtenPatternsOf } from './route-checks.ts';

/** Warns about redirects to a path that the same route takes again: browsers give up after twenty rounds. */
export function checkRedirects(file: ConfigFile): void {
  const { routes } = asMap(file.value);
  const written = (Array.isArray(routes) ? routes : []).map(asMap);
  const targets = written.flatMap(({ redirect }, index) => {
    const { to } = asMap(redirect);
    return typeof to === 'string' && to.startsWith('/') ? [{ index, to }] : [];
  });
  if (targets.length === 0) return;
  const patterns = written.map(route => writtenPatternsOf(route) ?? []);
  const entries = patterns.flatMap((all, value) => all.map(pattern => ({ pattern, value })));
  if (findConflicts(entries.map(({ pattern }) => pattern)).length > 0) return;
  const table = new RouteTable(entries);
  for (const { index, to } of targets) {
    if (!patterns[index]?.some(pattern => leadsTo(table, index, pattern, to))) continue;
    const message = 'this route takes that path itself: clients would be redirected in a circle';
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
