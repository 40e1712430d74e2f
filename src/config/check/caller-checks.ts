import { type CallerClaims, keyOfClaim, kindsOf, listedCaller } from '../compile/index.ts';
import { asMap, type ConfigFile, didYouMean, isMap, type LimitsFiles } from '../file/index.ts';

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
  for (const { path, entry } of entries) {
    const caller = listedCaller(entry, classes);
    if (kindsOf(caller, classes).length > 0) continue;
    const own = classes.filter(({ provider }) => caller.provider === null || provider === caller.provider);
    if (classes.length === 0) file.add(path, WITHOUT_TOKENS);
    else if (own.length === 0) file.add([...path, 'provider'], noProvider(caller.provider, classes));
    else file.add(path, whatItTakes(own));
  }
}

const WITHOUT_TOKENS =
  'without a provider in gateway.yaml every caller is an address: list addresses instead';

interface Entry {
  readonly path: readonly (string | number)[];
  readonly entry: Readonly<Record<string, unknown>>;
}

function entriesIn(list: unknown, path: readonly string[]): Entry[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, index) => (isMap(entry) ? [{ path: [...path, index], entry }] : []));
}

/** Lists the claims that identify callers; `null` if they are invalid, which validation reports. */
function classesIn(gateway: ConfigFile): CallerClaims[] | null {
  const { access_tokens: tokens, identity_providers: several } = asMap(gateway.value);
  if (several === undefined) return tokens === undefined ? [] : classesOf(tokens, null);
  if (!Array.isArray(several)) return null;
  const classes = several.map(entry => classesOf(entry, asMap(entry).name));
  return classes.some(each => each === null) ? null : classes.flatMap(each => each ?? []);
}

/** @param section the part of gateway.yaml with `principal` and `bots` */
function classesOf(section: unknown, name: unknown): CallerClaims[] | null {
  const { principal = ['azp', 'sub'], bots } = asMap(section);
  const { principal: botPrincipal = ['azp'] } = asMap(bots);
  if (!areTexts(principal) || !areTexts(botPrincipal)) return null;
  const of = { provider: typeof name === 'string' ? name : null, issuer: null };
  const users: CallerClaims = { kind: 'user', claims: principal, ...of };
  return isMap(bots) ? [users, { kind: 'bot', claims: botPrincipal, ...of }] : [users];
}

function noProvider(name: unknown, classes: readonly CallerClaims[]): string {
  const names = [...new Set(classes.flatMap(({ provider }) => provider ?? []))];
  return `no provider in gateway.yaml has this name${typeof name === 'string' ? didYouMean(name, names) : ''}`;
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string');
}

function whatItTakes(classes: readonly CallerClaims[]): string {
  const kinds = new Set(
    classes.map(({ kind, claims }) => `{ ${claims.map(keyOfClaim).join(', ')} } for a ${kind}`),
  );
  return `a caller is listed by the claims that identify it in gateway.yaml: ${[...kinds].join(', or ')}`;
}
