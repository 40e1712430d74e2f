import { type ClassName, formatDuration } from '../core/index.ts';
import type { Diagnostic } from './file/index.ts';
import type { Snapshot } from './model/index.ts';

/** The keys of `global` that name the quota of a class: a class of gateway.yaml has that of users unless it has its own. */
function keysOf(callerClass: ClassName): readonly (readonly string[])[] {
  if (callerClass === 'bot' || callerClass === 'address') return [[callerClass]];
  return [['user'], ['classes', callerClass]];
}

/** The global limit of a class if no limits file names it; else, or if there is none, `null`. */
export function defaultLimitOf(
  { limits, outline }: Pick<Snapshot, 'limits' | 'outline'>,
  callerClass: ClassName,
): { readonly quota: string; readonly key: string } | null {
  const { global: limit } = limits.global.of(callerClass);
  const keys = keysOf(callerClass);
  if (limit === null || keys.some(key => outline.places.of(['global', ...key]) !== null)) return null;
  const [[key = callerClass] = []] = keys;
  return { quota: `${limit.units}/${formatDuration(limit.periodMs)}`, key };
}

/** Hints at global limits that no limits file names: a page that loads many files at once exceeds them. */
export function hintsAtDefaultLimits(snapshot: Snapshot): Diagnostic[] {
  const classes = snapshot.identity === null ? ['address'] : ['user', 'address'];
  const left = classes.flatMap(name => defaultLimitOf(snapshot, name) ?? []);
  const [first] = left;
  if (first === undefined || snapshot.outline.routes.every(({ value }) => value.globalLimitExempt)) return [];
  const { files, outline } = snapshot;
  const where = files.length > 1 ? '' : ' into a file that "limits" names';
  const keys = left.map(({ key }) => `${key}: 500/10s`).join(', ');
  const message = `no limits file names the global limit of each ${left.map(({ key }) => key).join(' and ')}: it is ${first.quota}, which a page with many files exceeds. Write "global: { ${keys} }"${where}, or what your clients need`;
  const place = outline.places.of(['global']) ?? { file: files[1] ?? files[0] ?? '', line: 1 };
  return [{ ...place, column: 1, message, severity: 'hint' }];
}
