import type { ConfigFile, Path } from '../../file/index.ts';
import type { IdentityProviderConfig } from '../../schema/index.ts';

/** The keys that need a client: a sign-in and notices name it, the others say how the gateway authenticates as it. */
const NEED_CLIENT = [
  'redirect_uri',
  'client_authentication',
  'client_secret',
  'client_secret_file',
  'private_key_file',
  'private_key_id',
  'notices',
] as const;

/** The keys about the requests of a client. */
const OF_CLIENT: readonly Path[] = [['max_in_flight'], ['endpoints', 'introspection']];

/** The keys that say how users sign in. */
const OF_SIGN_IN: readonly Path[] = [
  ['redirect_uris'],
  ['scope'],
  ['endpoints', 'authorization'],
  ['endpoints', 'token'],
  ['endpoints', 'revocation'],
  ['endpoints', 'end_session'],
];

/** Checks that a provider whose tokens are only checked does not look as if users could sign in there. */
export function checkRoles(file: ConfigFile, section: Path, config: IdentityProviderConfig): void {
  const addWithout = (keys: readonly Path[], lacking: string) => {
    for (const key of keys) {
      const message = `"${key.at(-1)}" has no effect without "${lacking}"`;
      if (file.has([...section, ...key])) file.add([...section, ...key], message, { about: 'key' });
    }
  };
  if (config.redirect_uri === undefined) addWithout(OF_SIGN_IN, 'redirect_uri');
  if (config.client_id !== undefined) return;
  const needing = NEED_CLIENT.filter(key => file.has([...section, key]));
  if (needing.length === 0) addWithout(OF_CLIENT, 'client_id');
  else
    file.add(
      section,
      `missing key "client_id", the id of the gateway at the provider: ${allOf(needing)} ${needing.length > 1 ? 'need' : 'needs'} it`,
    );
}

function allOf(keys: readonly string[]): string {
  const quoted = keys.map(key => `"${key}"`);
  return [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter(part => part !== '').join(' and ');
}

/** Warns if `openid` is missing: the request is then not an OpenID request (OpenID Connect Core 1.0, 3.1.2.1). */
export function warnOfScope(file: ConfigFile, section: Path, { scope }: IdentityProviderConfig): void {
  if (scope.split(' ').includes('openid')) return;
  file.add([...section, 'scope'], 'without "openid" the provider issues no ID token', {
    severity: 'warning',
  });
}
