import { createPrivateKey, X509Certificate } from 'node:crypto';

import { asMap, type ConfigFile, readNamedText } from '../file/index.ts';

/** What a file holds. Undefined: the section names none. Null: it cannot be used, which was reported. */
export type FileText = string | null | undefined;

/** Says what is wrong with a text, or nothing. */
type Check = (text: string) => string | undefined;

/** What a section names under `tls`. */
export interface TlsFiles {
  readonly ca: FileText;
  readonly certificate: FileText;
  readonly key: FileText;
}

/**
 * Reads the secrets, keys and certificates that a section of gateway.yaml names. Reads the raw value and each file by itself,
 * so that a mistake in one part of the section hides none of the others.
 */
export class SecretFiles {
  readonly #file: ConfigFile;
  readonly #section: string;

  constructor(file: ConfigFile, section: string) {
    this.#file = file;
    this.#section = section;
  }

  secret(key: string): Promise<FileText> {
    return this.#read([key], secretMistake);
  }

  privateKey(key: string): Promise<FileText> {
    return this.#read([key], keyMistake);
  }

  async tls(): Promise<TlsFiles> {
    return {
      ca: await this.#read(['tls', 'ca_file'], certificateMistake),
      certificate: await this.#read(['tls', 'certificate_file'], certificateMistake),
      key: await this.#read(['tls', 'key_file'], keyMistake),
    };
  }

  async #read(keys: readonly string[], check: Check): Promise<FileText> {
    const path = [this.#section, ...keys];
    const name = path.reduce<unknown>((value, key) => asMap(value)[key], this.#file.value);
    if (name === undefined) return undefined;
    // Validation reports what is not a text.
    if (typeof name !== 'string' || name === '') return null;
    const text = await readNamedText(this.#file, path, name);
    const mistake = text === null ? undefined : check(text);
    if (mistake !== undefined) this.#file.add(path, mistake);
    return mistake === undefined ? text : null;
  }
}

/**
 * Reads a secret that a variable holds, or else takes the one of the file. Reports where both are given, and a variable
 * that holds none.
 */
export function chooseSecret(
  file: ConfigFile,
  path: readonly [section: string, key: string],
  { variable, fromFile }: { readonly variable: string | undefined; readonly fromFile: FileText },
): FileText {
  if (variable === undefined) return fromFile;
  const [section, key] = path;
  const named = [section, `${key}_file`];
  if (file.has(named)) file.add(named, `"${key}" is given as well: remove one of the two`, { about: 'key' });
  const secret = variable.replace(/[\r\n]+$/, '');
  const mistake = secretMistake(secret);
  // Anything but a variable was reported as such.
  if (mistake !== undefined && file.isVariable(path)) file.add(path, mistake);
  return mistake === undefined ? secret : null;
}

/** Reports a certificate without its key, or a key without its certificate. Returns whether neither stands alone. */
export function checkPair(
  file: ConfigFile,
  section: string,
  tls: { readonly certificate_file?: string | undefined; readonly key_file?: string | undefined },
): boolean {
  const { certificate_file: certificate, key_file: key } = tls;
  if ((certificate === undefined) === (key === undefined)) return true;
  const [one, other] =
    key === undefined ? ['certificate_file', 'key_file'] : ['key_file', 'certificate_file'];
  file.add([section, 'tls', one ?? ''], `needs "${other}" beside it`);
  return false;
}

/** A wrong file would otherwise be found out only when the provider or Redis rejects the secret. */
function secretMistake(text: string): string | undefined {
  if (text === '') return 'the secret is empty';
  return /[\x00-\x1f\x7f]/.test(text) ? 'a secret must be one line without control characters' : undefined;
}

/** Checks every certificate: Node passes over those that it cannot read among those to trust, and then trusts nobody. */
function certificateMistake(text: string): string | undefined {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return 'the file contains no PEM certificate';
  const unreadable = blocks.findIndex(block => !succeeds(() => new X509Certificate(block)));
  return unreadable === -1 ? undefined : `certificate ${unreadable + 1} of the file cannot be read`;
}

function keyMistake(text: string): string | undefined {
  if (succeeds(() => createPrivateKey(text))) return undefined;
  return 'the file contains no PEM private key, or an encrypted one';
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
