import { createPrivateKey, X509Certificate } from 'node:crypto';

import { asMap, type ConfigFile, readNamedText } from '../file/index.ts';

/** What the files hold that `identity_provider` names. Undefined: none is named. Null: it cannot be used, which was told. */
export interface ProviderFiles {
  readonly clientSecret: string | null | undefined;
  readonly privateKey: string | null | undefined;
  readonly ca: string | null | undefined;
  readonly certificate: string | null | undefined;
  readonly key: string | null | undefined;
}

/** Says what is wrong with a text, or nothing. */
type Check = (text: string) => string | undefined;

/**
 * Reads the files that the raw value of `identity_provider` names. Each is read by itself, so that a mistake in one part
 * of the section keeps none of the others from being told.
 */
export async function readProviderFiles(file: ConfigFile, provider: unknown): Promise<ProviderFiles> {
  const read = async (keys: readonly string[], check: Check): Promise<string | null | undefined> => {
    const name = keys.reduce<unknown>((value, key) => asMap(value)[key], provider);
    if (name === undefined) return undefined;
    // Not the text that it should be: validation says so.
    if (typeof name !== 'string' || name === '') return null;
    const path = ['identity_provider', ...keys];
    const text = await readNamedText(file, path, name);
    const mistake = text === null ? undefined : check(text);
    if (mistake !== undefined) file.add(path, mistake);
    return mistake === undefined ? text : null;
  };
  return {
    clientSecret: await read(['client_secret_file'], secretMistake),
    privateKey: await read(['private_key_file'], keyMistake),
    ca: await read(['tls', 'ca_file'], certificateMistake),
    certificate: await read(['tls', 'certificate_file'], certificateMistake),
    key: await read(['tls', 'key_file'], keyMistake),
  };
}

/** What is wrong with a secret, or undefined. A wrong file would otherwise be found out only by the provider's refusal. */
export function secretMistake(text: string): string | undefined {
  if (text === '') return 'the secret is empty';
  return /[\x00-\x1f\x7f]/.test(text) ? 'a secret is one line without control characters' : undefined;
}

/** Every certificate is looked at: Node passes over what it cannot read among those to trust, and then trusts nobody. */
export function certificateMistake(text: string): string | undefined {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return 'the file holds no certificate in PEM form';
  const unreadable = blocks.findIndex(block => !succeeds(() => new X509Certificate(block)));
  return unreadable === -1 ? undefined : `certificate ${unreadable + 1} of the file cannot be read`;
}

/** What is wrong with a private key, or undefined. */
export function keyMistake(text: string): string | undefined {
  if (succeeds(() => createPrivateKey(text))) return undefined;
  return 'the file holds no private key in PEM form, or an encrypted one';
}

function succeeds(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    // The cause is left out: nothing that has seen a key goes near a log.
    return false;
  }
}
