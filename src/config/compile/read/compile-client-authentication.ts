import type { ClientAuthentication } from '../../../signin/index.ts';
import type { ConfigFile, Path } from '../../file/index.ts';
import type { IdentityProviderConfig } from '../../schema/index.ts';
import { chooseSecret, type FileText } from './secret-files.ts';

/** The part of a provider's section that says how the gateway authenticates. */
type Config = Pick<IdentityProviderConfig, 'client_authentication' | 'client_secret' | (typeof KEYS)[number]>;

const KEYS = ['client_secret', 'client_secret_file', 'private_key_file', 'private_key_id'] as const;

/** The keys that each kind of client authentication uses. */
const USES: Readonly<Record<ClientAuthentication['kind'], readonly string[]>> = {
  client_secret_basic: ['client_secret', 'client_secret_file'],
  client_secret_post: ['client_secret', 'client_secret_file'],
  private_key_jwt: ['private_key_file', 'private_key_id'],
  tls_client_auth: [],
  none: [],
};

/**
 * Builds the client authentication. Returns null, and adds an error to the file, if something is missing.
 *
 * @param section where the provider is in the file
 */
export function clientAuthentication(
  file: ConfigFile,
  section: Path,
  config: Config,
  files: { readonly clientSecret: FileText; readonly privateKey: FileText },
): ClientAuthentication | null {
  const { client_authentication: kind, private_key_id: keyId } = config;
  for (const key of KEYS) {
    if (config[key] === undefined || USES[kind].includes(key)) continue;
    file.add([...section, key], `"${key}" has no effect with client_authentication: ${kind}`, {
      about: 'key',
    });
  }
  switch (kind) {
    case 'client_secret_basic':
    case 'client_secret_post': {
      const secret = clientSecret(file, section, config, files.clientSecret);
      return secret === null ? null : { kind, secret };
    }
    case 'private_key_jwt': {
      const { privateKey: key } = files;
      if (key === undefined) file.add(section, 'missing key "private_key_file": private_key_jwt needs it');
      return key ? { kind, key, keyId: keyId ?? null, algorithm: null } : null;
    }
    default:
      return { kind };
  }
}

/** Of the same kind, with an empty secret or key, which no provider takes. */
export function authenticationWithoutSecrets({
  client_authentication: kind,
  private_key_id: keyId,
}: Config): ClientAuthentication {
  switch (kind) {
    case 'client_secret_basic':
    case 'client_secret_post':
      return { kind, secret: '' };
    case 'private_key_jwt':
      return { kind, key: '', keyId: keyId ?? null, algorithm: null };
    default:
      return { kind };
  }
}

function clientSecret(
  file: ConfigFile,
  section: Path,
  { client_authentication: kind, client_secret: variable }: Config,
  fromFile: FileText,
): string | null {
  const secret = chooseSecret(file, [...section, 'client_secret'], { variable, fromFile });
  if (secret !== undefined) return secret;
  file.add(section, `missing key "client_secret_file": ${kind} needs it, or client_secret: "\${NAME}"`);
  return null;
}
