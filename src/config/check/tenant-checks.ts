import { issuerOfTenant, isTenantValue, readTenants, type Tenants, tenantIn } from '../../core/index.ts';
import { asList, asMap, type ConfigFile, isMap, type Path } from '../file/index.ts';
import { type WrittenProvider, writtenProviders } from '../settings/index.ts';
import { sectionsIn } from './caller-checks.ts';

/** Checks the providers whose issuer has a placeholder. Reads the raw value, as all cross-checks do. */
export function checkTenants(file: ConfigFile): void {
  const providers = writtenProviders(file);
  const open = providers.map(provider => checkProvider(file, provider));
  for (const { path, raw, issuer } of sectionsIn(file))
    if (tenantsIn(issuer, 'any') !== null && (raw.opaque_tokens ?? 'off') !== 'off')
      file.add(
        [...path, 'opaque_tokens'],
        'an answer about an opaque token names no tenant: not with a placeholder in "issuer"',
      );
  checkOverlaps(file, providers);
  for (const [index, isOpen] of open.entries()) if (isOpen) warnOfStrangers(file, index);
}

/** Returns whether it accepts any tenant. */
function checkProvider(file: ConfigFile, { path, raw }: WrittenProvider): boolean {
  if (typeof raw.issuer !== 'string') return false;
  const read = readTenants(raw.issuer);
  if (typeof read === 'string') file.add([...path, 'issuer'], read);
  if (read === null && raw.issuer_values !== undefined)
    file.addUseless([...path, 'issuer_values'], 'without a placeholder in "issuer"');
  if (read === null || typeof read === 'string') return false;
  const claim = `"{${read.claim}}" in "issuer"`;
  if (raw.issuer_values === undefined)
    file.add(
      [...path, 'issuer'],
      `missing key "issuer_values", which says whose tokens are accepted in place of ${claim}, or any`,
    );
  if (raw.discovery_url === undefined)
    file.add(
      [...path, 'issuer'],
      `missing key "discovery_url": with ${claim} no document can be found by the issuer`,
    );
  checkValues(file, [...path, 'issuer_values'], raw.issuer_values, { ...read, values: null });
  if (asMap(raw.notices).not_before_push !== undefined)
    file.add(
      [...path, 'notices', 'not_before_push'],
      `a push names no issuer, so with ${claim} nobody knows whose tokens it means`,
    );
  const { audience = 'issuer' } = asMap(raw.client_assertion);
  if (raw.client_authentication === 'private_key_jwt' && audience === 'issuer')
    file.add(
      path,
      `with ${claim} an assertion cannot be for the issuer: add "client_assertion: { audience: token_endpoint }"`,
    );
  return raw.issuer_values === 'any';
}

function checkValues(file: ConfigFile, path: Path, written: unknown, tenants: Tenants): void {
  for (const [index, value] of asList(written).entries())
    if (
      typeof value === 'string' &&
      isTenantValue(value) &&
      tenantIn(issuerOfTenant(tenants, value), tenants) === null
    )
      file.add([...path, index], 'has a dot, which would begin another label of the host');
}

/** Reports an issuer that may be that of two providers: a token is judged by one. */
function checkOverlaps(file: ConfigFile, providers: readonly WrittenProvider[]): void {
  const all = providers.map(({ raw: { issuer, issuer_values } }) => ({
    issuer: typeof issuer === 'string' ? issuer : '',
    tenants: tenantsIn(issuer, issuer_values),
  }));
  for (const [index, { tenants, issuer }] of all.entries()) {
    if (tenants === null) continue;
    const twin = all.findIndex((other, at) => {
      if (at === index || other.issuer === issuer) return false;
      if (other.tenants === null) return tenantIn(other.issuer, tenants) !== null;
      return at < index && overlap(tenants, other.tenants);
    });
    if (twin === -1) continue;
    const { line } = file.place(['identity_providers', twin, 'issuer']);
    const message = `tokens of the provider in line ${line} may have this issuer as well`;
    file.add(['identity_providers', index, 'issuer'], message);
  }
}

/** Returns the tenants as written; of wrong values, as if any were accepted. */
function tenantsIn(issuer: unknown, values: unknown): Tenants | null {
  const read = typeof issuer === 'string' ? readTenants(issuer) : null;
  if (read === null || typeof read === 'string') return null;
  const listed = asList(values).filter(value => typeof value === 'string');
  return { ...read, values: listed.length === 0 ? null : listed };
}

/** Whether some text may be the issuer of a tenant of both. */
function overlap(one: Tenants, other: Tenants): boolean {
  return mayBeOf(one, other) || mayBeOf(other, one);
}

/** The only tenant of `one` that `other` may have, too, is the one that its text begins with. */
function mayBeOf(one: Tenants, other: Tenants): boolean {
  if (one.before === other.before) return one.after === other.after;
  if (!other.before.startsWith(one.before)) return false;
  const end = one.after.startsWith('.') ? '.' : '/';
  const [value = ''] = other.before.slice(one.before.length).split(end, 1);
  const issuer = issuerOfTenant(one, value);
  return [one, other].every(tenants => tenantIn(issuer, tenants) !== null);
}

const STRANGERS =
  'any tenant is accepted, so a stranger can give this to the tokens of a tenant of their own: list "issuer_values"';

/** Warns of what strangers could claim for themselves. Rules that list callers do not count: those name their tenant. */
function warnOfStrangers(file: ConfigFile, index: number): void {
  const section = sectionsIn(file)[index];
  if (section === undefined) return;
  const warn = (path: Path) => file.add(path, STRANGERS, { about: 'key', severity: 'warning' });
  const { path, raw } = section;
  if (isMap(raw.bots)) warn([...path, 'bots']);
  for (const [name, rule] of Object.entries(asMap(raw.classes)))
    if (asMap(rule).claim !== undefined) warn([...path, 'classes', name, 'claim']);
  for (const [at, route] of asList(asMap(file.value).routes).entries())
    for (const key of ['claims', 'roles'])
      if (asMap(asMap(route).require)[key] !== undefined) warn(['routes', at, 'require', key]);
}
