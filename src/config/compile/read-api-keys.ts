import type { Clock } from '../../core/index.ts';
import type { ApiKeyLine } from '../../identity/auth/index.ts';
import { asMap, ConfigFile } from '../file/index.ts';
import { validate } from '../schema/index.ts';
import { apiKeyLines, apiKeysFileSchema, apiKeysSecrecy } from '../settings/index.ts';
import { siblingOf } from './read-limits.ts';

interface ReadApiKeys {
  /** `undefined` if the file is invalid or unreadable; empty without `api_keys`. */
  readonly lines: readonly ApiKeyLine[] | undefined;
  /** The file; `null` if there is none. */
  readonly file: ConfigFile | null;
}

/** Reads the file that `api_keys.file` of gateway.yaml names. A missing file is an error in gateway.yaml. */
export async function readApiKeys(gateway: ConfigFile, clock: Clock): Promise<ReadApiKeys> {
  const { api_keys: keys } = asMap(gateway.value);
  const { file: name } = asMap(keys);
  if (keys === undefined) return { lines: [], file: null };
  // Validation reports anything else.
  if (typeof name !== 'string' || name === '') return { lines: undefined, file: null };
  const file = await ConfigFile.read(siblingOf(gateway.name, name), {}, gateway.readings, apiKeysSecrecy);
  if (file.unreadable !== null) {
    gateway.add(['api_keys', 'file'], file.unreadable.reason, { isContent: true });
    return { lines: undefined, file: null };
  }
  const read = validate(file, apiKeysFileSchema);
  if (read === undefined) return { lines: undefined, file };
  const lines = apiKeyLines(read);
  checkUnique(file, lines);
  for (const [index, { notAfterMs }] of lines.entries())
    if (notAfterMs !== null && notAfterMs <= clock.epochMs())
      file.warn([index, 'not_after'], 'is over: this key is refused');
  return { lines: file.hasErrors ? undefined : lines, file };
}

function checkUnique(file: ConfigFile, lines: readonly ApiKeyLine[]): void {
  const first = new Map<string, number>();
  for (const [index, { name, digests }] of lines.entries()) {
    const values = [{ key: 'name', what: 'name', value: name }];
    for (const value of digests) values.push({ key: 'sha256', what: 'key', value });
    for (const { key, what, value } of values) {
      const twin = first.get(`${key} ${value}`);
      if (twin !== undefined)
        file.add([index, key], `the line ${file.place([twin, key]).line} has this ${what} already`);
      first.set(`${key} ${value}`, index);
    }
  }
}
