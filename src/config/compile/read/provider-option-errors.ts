import {
  type ClientOptions,
  type OptionError,
  optionErrors,
  type ProviderOptions,
} from '../../../signin/index.ts';
import type { ConfigFile, Path } from '../../file/index.ts';

/** The options of one provider. */
interface Options {
  readonly provider: ProviderOptions;
  readonly client: ClientOptions | null;
  readonly redirectUri: string | null;
}

/** Adds what is wrong with the options of a provider to the file, at the keys that they come from. */
export function addOptionErrors(file: ConfigFile, section: Path, options: Options): void {
  const { provider, client, redirectUri } = options;
  for (const { option, message } of optionErrors(provider, client, redirectUri)) {
    const keyFile = [...section, 'private_key_file'];
    const path =
      option === 'clientAuthentication' && file.has(keyFile) ? keyFile : [...section, ...KEYS[option]];
    file.add(path, message);
  }
}

/** Maps the options of signin/ to keys of the file. */
const KEYS: Readonly<Record<OptionError['option'], readonly string[]>> = {
  issuer: ['issuer'],
  discoveryUrl: ['discovery_url'],
  'endpoints.authorization': ['endpoints', 'authorization'],
  'endpoints.token': ['endpoints', 'token'],
  'endpoints.keySet': ['endpoints', 'key_set'],
  'endpoints.revocation': ['endpoints', 'revocation'],
  'endpoints.endSession': ['endpoints', 'end_session'],
  'endpoints.introspection': ['endpoints', 'introspection'],
  tls: ['tls'],
  clientAuthentication: ['client_authentication'],
  redirectUri: ['redirect_uri'],
};
