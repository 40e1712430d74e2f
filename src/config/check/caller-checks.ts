import { type CallerClaims, keyOfClaim, kindsWithKeys } from '../compile/index.ts';
import { asMap, type ConfigFile, isMap, type LimitsFiles } from '../file/index.ts';

/** Checks that the callers listed in limits.yaml are named by exactly the claims that identify callers in gateway.yaml. */
export function checkCallers(file: LimitsFiles, gateway: ConfigFile): void {
  const { never_restrict: spared, blocked } = asMap(file.value);
  const entries = [
    ...entriesIn(spared, ['never_restrict']),
    ...entriesIn(asMap(blocked).callers, ['blocked', 'callers']),
  ];
  if (entries.length === 0) return;
  const classes = classesIn(gateway);
  if (classes === null) return;
  for (const { path, keys } of entries) {
    if (kindsWithKeys(classes, keys).length > 0) continue;
    file.add(path, classes.length === 0 ? WITHOUT_TOKENS : whatItTakes(classes));
  }
}

const WITHOUT_TOKENS =
  'without "access_tokens" in gateway.yaml every caller is an address: list addresses instead';

interface Entry {
  readonly path: readonly (string | number)[];
  readonly keys: readonly string[];
}

function entriesIn(list: unknown, path: readonly string[]): Entry[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, index) =>
    isMap(entry) ? [{ path: [...path, index], keys: Object.keys(entry) }] : [],
  );
}

/** Null: access_tokens is invalid, which validation reports. */
function classesIn(gateway: ConfigFile): CallerClaims[] | null {
  const { access_tokens: tokens } = asMap(gateway.value);
  if (tokens === undefined) return [];
  const { principal = ['azp', 'sub'], bots } = asMap(tokens);
  const { principal: botPrincipal = ['azp'] } = asMap(bots);
  if (!areTexts(principal) || !areTexts(botPrincipal)) return null;
  const users: CallerClaims = { kind: 'user', claims: principal };
  return isMap(bots) ? [users, { kind: 'bot', claims: botPrincipal }] : [users];
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string');
}

function whatItTakes(classes: readonly CallerClaims[]): string {
  const kinds = classes.map(({ kind, claims }) => `{ ${claims.map(keyOfClaim).join(', ')} } for a ${kind}`);
  return `a caller is listed by the claims that identify it in gateway.yaml: ${kinds.join(', or ')}`;
}
