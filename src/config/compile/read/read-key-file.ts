import { type ConfigFile, type Path, readNamedText } from '../../file/index.ts';

const MIN_CHARACTERS = 32;

/**
 * Reads a secret that must not be guessed from the file that a key of gateway.yaml names. Returns null if none is named or, after
 * adding an error to the file, if it cannot be used.
 *
 * @param what for messages: `key`, `token`
 */
export async function readKeyFile(file: ConfigFile, path: Path, what: string): Promise<string | null> {
  const name = file.valueAt(path);
  // Validation reports any other type.
  if (typeof name !== 'string' || name === '') return null;
  const text = await readNamedText(file, path, name);
  if (text === null || text.length >= MIN_CHARACTERS) return text;
  file.add(
    path,
    `the ${what} has fewer than ${MIN_CHARACTERS} characters: generate one with "openssl rand -base64 32"`,
    { isContent: true },
  );
  return null;
}
