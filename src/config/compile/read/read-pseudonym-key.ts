import { asMap, type ConfigFile, readNamedText } from '../../file/index.ts';

const MIN_CHARACTERS = 32;

/**
 * Reads the key that `log.pseudonym_key_file` of gateway.yaml names. Returns null if none is named or, after adding an error to
 * the file, if it cannot be used.
 */
export async function readPseudonymKey(file: ConfigFile): Promise<Buffer | null> {
  const path = ['log', 'pseudonym_key_file'];
  const name = asMap(asMap(file.value).log).pseudonym_key_file;
  // Validation reports any other type.
  if (typeof name !== 'string' || name === '') return null;
  const text = await readNamedText(file, path, name);
  if (text === null) return null;
  if (text.length >= MIN_CHARACTERS) return Buffer.from(text);
  // A guessed key would reveal the callers behind the names.
  file.add(
    path,
    `the key has fewer than ${MIN_CHARACTERS} characters: generate one with "openssl rand -base64 32"`,
  );
  return null;
}
