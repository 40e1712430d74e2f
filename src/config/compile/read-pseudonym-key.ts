import { asMap, type ConfigFile, readNamedText } from '../file/index.ts';

const MIN_CHARACTERS = 32;

/**
 * The key that `log.pseudonym_key_file` of gateway.yaml names. Null when none is named, or when it cannot be used, which is
 * among the diagnostics of the file then.
 */
export async function readPseudonymKey(file: ConfigFile): Promise<Buffer | null> {
  const path = ['log', 'pseudonym_key_file'];
  const name = asMap(asMap(file.value).log).pseudonym_key_file;
  // Not the text that it should be: validation says so.
  if (typeof name !== 'string' || name === '') return null;
  const text = await readNamedText(file, path, name);
  if (text === null) return null;
  if (text.length >= MIN_CHARACTERS) return Buffer.from(text);
  // A short key can be guessed, and with it who is behind a name.
  file.add(
    path,
    `the key has fewer than ${MIN_CHARACTERS} characters: generate one with "openssl rand -base64 32"`,
  );
  return null;
}
