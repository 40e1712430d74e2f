import {
  BUDGET_LIMITS,
  type BudgetOptions,
  CACHE_LIMITS,
  type CacheOptions,
  KEY_SET_LIMITS,
  type KeySetOptions,
} from '../../src/identity/auth/index.ts';
import { NO_TLS, PROVIDER_LIMITS, type ProviderOptions } from '../../src/identity/signin/index.ts';

// Options of the identity rooms for tests that open them without a configuration.

export const KEY_SET_OPTIONS: KeySetOptions = {
  ...KEY_SET_LIMITS,
  refreshMs: 600_000,
  cooldownMs: 5_000,
  fetchTimeoutMs: 5_000,
};

export const CACHE_OPTIONS: CacheOptions = { ...CACHE_LIMITS, maxTokens: 50_000 };

export const BUDGET_OPTIONS: BudgetOptions = { ...BUDGET_LIMITS, limit: 1_000, periodMs: 60_000 };

export const PROVIDER_OPTIONS: Omit<ProviderOptions, 'issuer'> = {
  ...PROVIDER_LIMITS,
  tenants: null,
  discoveryUrl: null,
  endpoints: {
    authorization: null,
    token: null,
    keySet: null,
    revocation: null,
    endSession: null,
    introspection: null,
  },
  signsIn: true,
  allowHttp: false,
  proxy: null,
  tls: NO_TLS,
  timeoutMs: 5_000,
};
