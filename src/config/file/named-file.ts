import { dirname, isAbsolute, resolve } from 'node:path';
import type { ConfigFile } from './config-file.ts';
import type { Path } from './diagnostic.ts';
import { readConfigFile } from './read-file.ts';

/** Resolves a name that a configuration file mentions, relative to that file. */
function namedFile(file: ConfigFile, name: string): string {
  return resolve(dirname(file.name), name);
}

/**
 * Reads a file that `file` names at `at`, such as a key or a secret, without trailing line ends. Returns null if that fails,
 * and adds an error that shows neither the content nor the name, since the name may be the secret itself, in the wrong place.
 */
export async function readNamedText(file: ConfigFile, at: Path, name: string): Promise<string | null> {
  if (/[\r\n]|-----BEGIN/.test(name)) {
    file.add(at, 'write the path of the file here, not its content');
    return null;
  }
  const path = namedFile(file, name);
  const read = await readConfigFile(path, file.readings.files);
  file.readings.note(path, 'secret', read);
  if (!read.ok) {
    const reason = read.diagnostic.line === null ? read.reason : 'the file is not UTF-8 text';
    const where = isAbsolute(name) ? '' : ` (looked for in ${resolve(dirname(file.name))})`;
    file.add(at, `${reason}${where}`, { isContent: true });
    return null;
  }
  const text = read.text.replace(/[\r\n]+$/, '');
  if (text === '') file.add(at, 'the file is empty', { isContent: true });
  return text === '' ? null : text;
}
