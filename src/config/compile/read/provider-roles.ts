import type { ConfigFile, Path } from '../../file/index.ts';
import type { IdentityProviderConfig } from '../../schema/index.ts';

/** What `identity_provider` and an entry of `identity_providers` have in common. */
export type ProviderConfig = Omit<IdentityProviderConfig, 'client_id' | 'redirect_uri'> & {
  readonly client_id?: string | undefined;
  readonly redirect_uri?: string | undefined;
};

/** The keys that say how the gateway authenticates as the client `client_id`. */
const OF_CLIENT: readonly Path[] = [
  ['client_authentication'],
  ['client_secret'],
  ['client_secret_file'],
  ['private_key_file'],
  ['private_key_id'],
  // They name the client.
  ['notices'],
  ['max_in_flight'],
  ['endpoints', 'introspection'],
];

/** The keys that say how users sign in. */
const OF_SIGN_IN: readonly Path[] = [
  ['redirect_uris'],
  ['scope'],
  ['endpoints', 'authorization'],
  ['endpoints', 'token'],
  ['endpoints', 'revocation'],
  ['endpoints', 'end_session'],
];

/**
 * Checks the keys of an entry of `identity_providers` that only checks tokens. It must not look as if users could sign in there.
 */
export function checkRoles(file: ConfigFile, section: Path, config: ProviderConfig): void {
  const addWithout = (keys: readonly Path[], lacking: string) => {
    for (const key of keys) {
      const message = `"${key.at(-1)}" has no effect without "${lacking}"`;
      if (file.has([...section, ...key])) file.add([...section, ...key], message, { about: 'key' });
    }
  };
  if (config.redirect_uri === undefined) addWithout(OF_SIGN_IN, 'redirect_uri');
  else if (config.client_id === undefined)
    file.add([...section, 'redirect_uri'], 'needs "client_id" beside it: users sign in to a client');
  if (config.client_id === undefined) addWithout(OF_CLIENT, 'client_id');
}

/** Warns if `openid` is missing: the request is then not an OpenID request (OpenID Connect Core 1.0, 3.1.2.1). */
export function warnOfScope(file: ConfigFile, section: Path, { scope }: ProviderConfig): void {
  if (scope.split(' ').includes('openid')) return;
  file.add([...section, 'scope'], 'without "openid" the provider issues no ID token', {
    severity: 'warning',
  });
}
