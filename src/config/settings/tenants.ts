import { readTenants, type Tenants } from '../../core/index.ts';

/** The keys of a provider that say whose tokens it signs. */
interface IssuerKeys {
  readonly issuer: string;
  readonly issuer_values?: 'any' | readonly string[] | undefined;
}

/** The tenants of a provider; `null` if its issuer has no placeholder, or a wrong one, which check/tenant-checks.ts reports. */
export function tenantsOf({ issuer, issuer_values: values = [] }: IssuerKeys): Tenants | null {
  const read = readTenants(issuer);
  return read === null || typeof read === 'string'
    ? null
    : { ...read, values: values === 'any' ? null : values };
}

/** The claims that identify a caller within the whole provider: its tenant is one of them. */
export function withTenant(claims: readonly string[], issuer: unknown): readonly string[] {
  const tenant = typeof issuer === 'string' ? (tenantsOf({ issuer })?.claim ?? null) : null;
  return tenant === null || claims.includes(tenant) ? claims : [tenant, ...claims];
}
