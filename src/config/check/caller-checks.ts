import {
  type CallerClaims,
  claimsByKind,
  keyOfClaim,
  kindsOf,
  listedCaller,
  withTenants,
} from '../compile/index.ts';
import {
  asList,
  asMap,
  type ConfigFile,
  didYouMean,
  isMap,
  type LimitsFiles,
  type Path,
  type RawMap,
  Section,
} from '../file/index.ts';
import { MAX_CLASSES } from '../settings/index.ts';

/** Checks the classes of gateway.yaml: whom they list, and how many there are. */
export function checkClasses(file: ConfigFile): void {
  const sections = sectionsIn(file);
  for (const section of sections) {
    const claims = callerClaimsOf(section);
    if (claims === null) continue;
    // By exactly the claims that identify callers.
    for (const [name, rule] of Object.entries(asMap(section.raw.classes)))
      for (const [index, entry] of asList(asMap(rule).callers).entries())
        if (isMap(entry) && kindsOf(listedCaller(entry, claims), claims).length === 0)
          section.add(['classes', name, 'callers', index], expectedCaller(claims));
  }
  const names = classNamesIn(file);
  const last = sections.findLast(({ raw }) => isMap(raw.classes));
  if (sections.length < 2 || names.length <= MAX_CLASSES || last === undefined) return;
  const message = `the providers have ${names.length} classes together, and at most ${MAX_CLASSES} are possible: give those that mean the same one name`;
  last.addKey('classes', message);
}

/** The sections of gateway.yaml with rules for tokens. */
export function sectionsIn(file: ConfigFile): Section[] {
  const { access_tokens: tokens, identity_providers: several } = asMap(file.value);
  return Array.isArray(several)
    ? several.map((entry, index) => new Section(file, ['identity_providers', index], entry))
    : [new Section(file, ['access_tokens'], tokens)];
}

/** The issuer of the tokens of such a section, as written. */
export function issuerOf({ file, path, raw }: Section): unknown {
  return path[0] === 'access_tokens' ? asMap(asMap(file.value).identity_provider).issuer : raw.issuer;
}

export function classNamesIn(file: ConfigFile): string[] {
  return [...new Set(sectionsIn(file).flatMap(({ raw }) => Object.keys(asMap(raw.classes))))];
}

export function keyClassesIn(keys: ConfigFile | null): readonly string[] {
  const named = asList(keys?.value).flatMap(line => asMap(line).class ?? []);
  return [...new Set(named.map(String))];
}

/** Reports too many classes, those of API keys included. */
export function checkKeyClasses(keys: ConfigFile, gateway: ConfigFile): void {
  const names = new Set([...classNamesIn(gateway), ...keyClassesIn(keys)]);
  const index = asList(keys.value).findIndex(line => asMap(line).class !== undefined);
  if (names.size <= MAX_CLASSES || index === -1) return;
  const message = `there are ${names.size} classes with those of gateway.yaml, and at most ${MAX_CLASSES} are possible`;
  keys.add([index, 'class'], message);
}

/** Checks the classes and groups of limits.yaml. `gateway`: null if the file is read alone; `keys`: the file of API keys. */
export function checkPlans(
  file: LimitsFiles,
  gateway: ConfigFile | null,
  keys: ConfigFile | null = null,
): void {
  const { global, buckets } = asMap(file.value);
  const parts = Object.entries(asMap(buckets)).map(
    ([name, bucket]) => [['buckets', name], asMap(bucket)] as const,
  );
  const known = gateway === null ? null : [...classNamesIn(gateway), ...keyClassesIn(keys)];
  for (const [path, part] of [[['global'], asMap(global)] as const, ...parts]) {
    if (known === null) break;
    checkNames(file, [...path, 'classes'], part.classes, known);
    checkNames(file, [...path, 'shadow', 'classes'], asMap(part.shadow).classes, known);
  }
  for (const [path, bucket] of parts) checkGroup(file, path, bucket);
}

/** Hints at numbers for classes without members: another gateway that reads the file may have some. */
function checkNames(file: LimitsFiles, path: Path, classes: unknown, known: readonly string[]): void {
  for (const name of Object.keys(asMap(classes))) {
    if (known.includes(name)) continue;
    const message = `"${name}" has no effect: no class of gateway.yaml has this name${didYouMean(name, known)}`;
    file.add([...path, name], message, { about: 'key', severity: 'hint' });
  }
}

/** Reports a shadow group with another claim: within a bucket, a request counts for only one group. */
function checkGroup(file: LimitsFiles, path: Path, bucket: RawMap): void {
  const { claim } = asMap(bucket.group);
  const { claim: tried } = asMap(asMap(bucket.shadow).group);
  if (typeof claim !== 'string' || typeof tried !== 'string' || claim === tried) return;
  const place = [...path, 'shadow', 'group', 'claim'];
  const line = file.linesOf([[...path, 'group', 'claim']], place);
  file.add(place, `the groups of a bucket are distinguished by one claim: write "${claim}", as in ${line}`);
}

/** Returns the claims that identify the callers of a section; `null` if they are invalid, which validation reports. */
export function callerClaimsOf(section: Section): readonly CallerClaims[] | null {
  const { principal = ['azp', 'sub'], bots, name } = section.raw;
  const { principal: botPrincipal = ['azp'] } = asMap(bots);
  if (!areTexts(principal) || !areTexts(botPrincipal)) return null;
  const rules = { principal, bots: isMap(bots) ? { principal: botPrincipal } : null };
  return claimsByKind(withTenants(rules, issuerOf(section)), {
    provider: typeof name === 'string' ? name : null,
    issuer: null,
  });
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string');
}

export function expectedCaller(classes: readonly CallerClaims[]): string {
  const kinds = new Set(
    classes.map(
      ({ kind, claims }) =>
        `{ ${claims.map(keyOfClaim).join(', ')} } for ${kind === 'key' ? 'an API key' : `a ${kind}`}`,
    ),
  );
  return `a caller is listed by the claims that identify it in gateway.yaml: ${[...kinds].join(', or ')}`;
}
