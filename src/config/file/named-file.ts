import { dirname, isAbsolute, resolve } from 'node:path';

import type { ConfigFile } from './config-file.ts';
import type { Path } from './path.ts';
import { readConfigFile } from './read-file.ts';

/** Where a file is that a configuration file names: what is relative is so to the file that names it. */
function namedFile(file: ConfigFile, name: string): string {
  return resolve(dirname(file.name), name);
}

/**
 * Reads a text that `file` names at `at`, such as a key or a secret, without the line ends at its end. Null when that
 * cannot be done: then there is a diagnostic there, which shows neither what the file holds nor the name that was written,
 * since that may be the secret itself, put into the wrong place.
 */
export async function readNamedText(file: ConfigFile, at: Path, name: string): Promise<string | null> {
  if (/[\r\n]|-----BEGIN/.test(name)) {
    file.add(at, 'write the path of the file here, not its content');
    return null;
  }
  const path = namedFile(file, name);
  const read = await readConfigFile(path);
  file.readings.note(path, 'secret', read);
  if (!read.ok) {
    const reason = read.diagnostic.line === null ? read.reason : 'the file is not UTF-8 text';
    const where = isAbsolute(name) ? '' : ` (looked for in ${resolve(dirname(file.name))})`;
    file.add(at, `${reason}${where}`);
    return null;
  }
  const text = read.text.replace(/[\r\n]+$/, '');
  if (text === '') file.add(at, 'the file is empty');
  return text === '' ? null : text;
}
