import {
  asList,
  asMap,
  type ConfigFile,
  didYouMean,
  isMap,
  type LimitsFiles,
  Section,
} from '../file/index.ts';
import { type CallerClaims, keyOfClaim, kindsOf, listedCaller } from '../limits/index.ts';
import { claimsByKind, MAX_CLASSES, withTenants } from '../settings/index.ts';
import { bucketsIn } from './quota-checks.ts';

/** Checks the classes of gateway.yaml: which callers they list, and how many classes there are. */
export function checkClasses(file: ConfigFile): void {
  const sections = sectionsIn(file);
  for (const section of sections) {
    const claims = callerClaimsOf(section);
    if (claims === null) continue;
    // Callers must be listed by exactly the claims that identify them.
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

/** The issuer of the tokens that this section has rules for, as written. */
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
  const buckets = bucketsIn(file);
  const global = new Section(file, ['global'], asMap(file.value).global);
  if (gateway !== null)
    for (const part of [global, ...buckets])
      checkNames(part, [...classNamesIn(gateway), ...keyClassesIn(keys)]);
  for (const bucket of buckets) checkGroup(bucket);
}

/** Hints at numbers for classes without members: another gateway that uses the same file may have some. */
function checkNames(part: Section<LimitsFiles>, known: readonly string[]): void {
  const { classes, shadow } = part.raw;
  const named = Object.keys(asMap(classes)).map(name => ['classes', name]);
  const tried = Object.keys(asMap(asMap(shadow).classes)).map(name => ['shadow', 'classes', name]);
  for (const path of [...named, ...tried]) {
    const name = String(path.at(-1));
    const message = `"${name}" has no effect: no class of gateway.yaml has this name${didYouMean(name, known)}`;
    if (!known.includes(name)) part.addKey(path, message, 'hint');
  }
}

/** Reports a shadow group with another claim: within a bucket, a request counts for only one group. */
function checkGroup(bucket: Section<LimitsFiles>): void {
  const { claim } = asMap(bucket.raw.group);
  const { claim: tried } = asMap(asMap(bucket.raw.shadow).group);
  if (typeof claim !== 'string' || typeof tried !== 'string' || claim === tried) return;
  const place = bucket.at(['shadow', 'group', 'claim']);
  const line = bucket.file.linesOf([bucket.at(['group', 'claim'])], place);
  bucket.file.add(
    place,
    `the groups of a bucket are distinguished by one claim: write "${claim}", as in ${line}`,
  );
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
