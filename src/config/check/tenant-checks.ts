import { issuerOfTenant, isTenantValue, readTenants, type Tenants, tenantIn } from '../../core/index.ts';
import { asList, asMap, type ConfigFile, isMap, type Path, type Section } from '../file/index.ts';
import { writtenProviders } from '../settings/index.ts';
import { issuerOf, sectionsIn } from './caller-checks.ts';
import { routesIn } from './route-checks.ts';

/** Checks the providers whose issuer has a placeholder. Reads the raw value, as all cross-checks do. */
export function checkTenants(file: ConfigFile): void {
  const providers = writtenProviders(file);
  const open = providers.map(checkProvider);
  const message = 'an answer about an opaque token names no tenant: not with a placeholder in "issuer"';
  for (const section of sectionsIn(file))
    if (tenantsIn(issuerOf(section), 'any') !== null && (section.raw.opaque_tokens ?? 'off') !== 'off')
      section.add('opaque_tokens', message);
  checkOverlaps(file, providers);
  for (const [index, isOpen] of open.entries()) if (isOpen) warnOfStrangers(file, index);
}

/** Returns whether it accepts any tenant. */
function checkProvider(provider: Section): boolean {
  const { issuer, issuer_values: values, discovery_url, notices, client_assertion } = provider.raw;
  if (typeof issuer !== 'string') return false;
  const read = readTenants(issuer);
  if (typeof read === 'string') provider.add('issuer', read);
  if (read === null && values !== undefined)
    provider.addUseless('issuer_values', 'without a placeholder in "issuer"');
  if (read === null || typeof read === 'string') return false;
  const claim = `"{${read.claim}}" in "issuer"`;
  const addMissing = (key: string, why: string) => provider.add('issuer', `missing key "${key}"${why}`);
  if (values === undefined)
    addMissing('issuer_values', `, which says whose tokens are accepted in place of ${claim}, or any`);
  if (discovery_url === undefined)
    addMissing('discovery_url', `: with ${claim} no document can be found by the issuer`);
  const tenants = { ...read, values: null };
  for (const [index, value] of asList(values).entries()) {
    const isValue = typeof value === 'string' && isTenantValue(value);
    if (isValue && tenantIn(issuerOfTenant(tenants, value), tenants) === null)
      provider.add(['issuer_values', index], 'has a dot, which would begin another label of the host');
  }
  const unclear = `a push names no issuer, so with ${claim} nobody knows whose tokens it means`;
  if (asMap(notices).not_before_push !== undefined) provider.add(['notices', 'not_before_push'], unclear);
  const { audience = 'issuer' } = asMap(client_assertion);
  const nowhere = `with ${claim} an assertion cannot be for the issuer: add "client_assertion: { audience: token_endpoint }"`;
  if (provider.raw.client_authentication === 'private_key_jwt' && audience === 'issuer')
    provider.add([], nowhere);
  return values === 'any';
}

/** Reports an issuer that may belong to two providers: a token can be judged by only one. */
function checkOverlaps(file: ConfigFile, providers: readonly Section[]): void {
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

/** Returns the tenants as written. Treats invalid values as if any tenant were accepted. */
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

/** If the issuers of `other` begin with more fixed text, only the tenant of `one` that this text names may be of both. */
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

/**
 * Warns of claims that tokens of unknown tenants could set as they like. Rules that list callers are safe: they name the tenant.
 */
function warnOfStrangers(file: ConfigFile, index: number): void {
  const section = sectionsIn(file)[index];
  if (section === undefined) return;
  const warn = (at: Section, keys: string | Path) => at.addKey(keys, STRANGERS, 'warning');
  if (isMap(section.raw.bots)) warn(section, 'bots');
  for (const [name, rule] of Object.entries(asMap(section.raw.classes)))
    if (asMap(rule).claim !== undefined) warn(section, ['classes', name, 'claim']);
  for (const route of routesIn(file))
    for (const key of ['claims', 'roles'])
      if (asMap(route.raw.require)[key] !== undefined) warn(route, ['require', key]);
}
