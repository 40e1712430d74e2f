import type { ConfigFile } from '../../file/index.ts';
import { readKeyFile } from './read-key-file.ts';

/**
 * Reads the key that `log.pseudonym_key_file` of gateway.yaml names; a guessed one would reveal the callers behind the names.
 * Null: none is named, or it cannot be used, which was reported.
 */
export async function readPseudonymKey(file: ConfigFile): Promise<Buffer | null> {
  const text = await readKeyFile(file, ['log', 'pseudonym_key_file'], 'key');
  return text === null ? null : Buffer.from(text);
}
