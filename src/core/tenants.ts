/**
 * The tenants of a provider that has an issuer for each: a claim of the token is a part of the issuer's name. All tenants share one
 * discovery document and one key set.
 */
export interface Tenants {
  /** The text before the claim's value: `https://login.example.com/`. */
  readonly before: string;
  readonly claim: string;
  /** The text after the claim's value: `/v2.0`. */
  readonly after: string;
  /** The accepted values; `null` for any. */
  readonly values: readonly string[] | null;
}

const VALUE = /^[A-Za-z0-9._-]{1,64}$/;

/** Whether this text may replace the placeholder: not if it has a meaning of its own in a path. */
export function isTenantValue(text: string): boolean {
  return VALUE.test(text) && text !== '.' && text !== '..';
}

/** The value of the claim in an issuer, if that belongs to an accepted tenant; else `null`. */
export function tenantIn(issuer: string, tenants: Tenants): string | null {
  const { before, after, values } = tenants;
  if (!issuer.startsWith(before) || !issuer.endsWith(after)) return null;
  const value = issuer.slice(before.length, issuer.length - after.length);
  if (!isTenantValue(value) || `${before}${value}${after}` !== issuer) return null;
  if (isHostLabel(tenants) && value.includes('.')) return null;
  return values === null || values.includes(value) ? value : null;
}

/** Whether the claim is a label of the host name, where a dot would begin another label. */
function isHostLabel({ before }: Pick<Tenants, 'before'>): boolean {
  return !before.slice(before.indexOf('://') + 3).includes('/');
}

export function issuerOfTenant({ before, after }: Tenants, value: string): string {
  return `${before}${value}${after}`;
}

/**
 * Whether a text from the provider is about this tenant's issuer: it is the issuer, or has a placeholder in place of the claim, as
 * Entra ID writes `{tenantid}`.
 */
export function namesTenant(text: string, issuer: string, tenants: Tenants): boolean {
  const value = tenantIn(issuer, tenants);
  return value !== null && (text === issuer || withValue(text, value) === issuer);
}

/** Whether a text from the provider is about some accepted tenant, or about all tenants. */
export function namesTenants(text: string, tenants: Tenants): boolean {
  return tenantIn(text, tenants) !== null || withValue(text, 'x') === issuerOfTenant(tenants, 'x');
}

const PLACEHOLDER = /\{([^{}]*)\}/;

/** The text with its only placeholder replaced by this value; `null` if it has no placeholder, or several. */
function withValue(text: string, value: string): string | null {
  const [before, _, after, ...more] = text.split(PLACEHOLDER);
  return before === undefined || after === undefined || more.length > 0 ? null : `${before}${value}${after}`;
}

/** Reads an issuer with a placeholder. Returns `null` if it has none, or a text that says what is wrong with it. */
export function readTenants(issuer: string): Omit<Tenants, 'values'> | string | null {
  if (!/[{}]/.test(issuer)) return null;
  const [before = '', claim = '', after = '', ...more] = issuer.split(PLACEHOLDER);
  if (more.length > 0) return 'has more than one placeholder';
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(claim) || /[{}]/.test(before + after))
    return 'has a placeholder that names no claim: write {tid}';
  const inPath = /^https?:\/\/[^/?#@\\]+\/([^?#\\]*\/)?$/.test(before) && /^(\/[^?#\\]*)?$/.test(after);
  // A domain must follow: otherwise anyone could register a domain and be an accepted issuer.
  const inHost =
    /^https?:\/\/([^/?#@:\\]+\.)?$/.test(before) && /^(\.[^./?#@:\\]+){2,}(:\d+)?(\/[^?#\\]*)?$/.test(after);
  if (!inPath && !inHost)
    return 'has a placeholder that is neither a whole segment of the path nor a whole label before the domain';
  return { before, claim, after };
}

/**
 * Makes a name that no other tenant can have: an issuer contains no blank. `tenant`: its issuer; `null` for a provider without
 * tenants.
 */
export function ofTenant(tenant: string | null, name: string): string {
  return tenant === null ? name : `${tenant} ${name}`;
}
