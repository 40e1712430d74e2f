import type { Diagnostic } from '../file/index.ts';
import type { Snapshot } from '../snapshot.ts';

/** What a page that loads many files at once stays below. */
export const ENOUGH_FOR_A_PAGE = '500/10s';

/** Hints at global limits that no limits file names: a page that loads many files at once exceeds them. */
export function hintsAtDefaultLimits({ defaultLimits, identity, files, outline }: Snapshot): Diagnostic[] {
  const { user, address } = defaultLimits;
  const left = (identity === null ? [address] : [user, address]).filter(limit => limit !== null);
  const [first] = left;
  if (first === undefined || outline.routes.every(({ value }) => value.globalLimitExempt)) return [];
  const where = files.length > 1 ? '' : ' into a file that "limits" names';
  const keys = left.map(({ key }) => `${key}: ${ENOUGH_FOR_A_PAGE}`).join(', ');
  const message = `no limits file names the global limit of each ${left.map(({ key }) => key).join(' and ')}: it is ${first.quota}, which a page with many files exceeds. Write "global: { ${keys} }"${where}, or what your clients need`;
  const place = outline.places.of(['global']) ?? { file: files[1] ?? files[0] ?? '', line: 1 };
  return [{ ...place, column: 1, message, severity: 'hint' }];
}
