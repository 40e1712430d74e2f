import type { Clock } from '../../../core/index.ts';
import type { ClientAuthentication } from '../../../signin/index.ts';
import type { ConfigFile } from '../../file/index.ts';
import type { StoreModel } from '../../model/index.ts';
import type { GatewayConfig, IdentityProviderConfig } from '../../schema/index.ts';
import { readAdminToken } from './read-admin-token.ts';
import { type ListenerTls, readListenerTls } from './read-listener-tls.ts';
import { type ProviderConfigOptions, providerWithoutSecrets, readProviders } from './read-provider.ts';
import { readPseudonymKey } from './read-pseudonym-key.ts';
import { readStore } from './read-store.ts';
import { readUpstreamTls } from './read-upstream-tls.ts';
import type { TlsFiles } from './secret-files.ts';

/** The parts of gateway.yaml that take secrets, keys or certificates. */
export interface SecretParts {
  readonly listenerTls: ListenerTls;
  readonly upstreamTls: ReadonlyMap<string, TlsFiles>;
  readonly providers: readonly ProviderConfigOptions[];
  readonly pseudonymKey: Buffer | null;
  readonly adminTokenHash: Buffer | null;
  /** Null: it cannot be used, which was reported. */
  readonly store: StoreModel | null;
}

/** Reads them, and reports what is wrong with each. */
export async function readSecrets(file: ConfigFile, clock: Clock): Promise<SecretParts> {
  return {
    listenerTls: await readListenerTls(file, clock),
    upstreamTls: await readUpstreamTls(file, clock),
    providers: await readProviders(file, clock),
    pseudonymKey: await readPseudonymKey(file),
    adminTokenHash: await readAdminToken(file),
    store: await readStore(file, clock),
  };
}

/**
 * Replaces the secrets where a command only looks at the configuration: the providers as written, without any file.
 *
 * @param authenticationOf how the gateway authenticates at a provider
 */
export function withoutSecrets(
  gateway: GatewayConfig,
  authenticationOf: (config: IdentityProviderConfig) => ClientAuthentication,
): SecretParts & { readonly store: StoreModel } {
  const { identity_provider: one, identity_providers: several = [] } = gateway;
  return {
    listenerTls: { http: null, grpc: null, admin: null },
    upstreamTls: new Map(),
    providers: [...(one === undefined ? [] : [one]), ...several].map(config =>
      providerWithoutSecrets(config, authenticationOf(config)),
    ),
    pseudonymKey: null,
    adminTokenHash: null,
    store: { kind: 'memory' },
  };
}
