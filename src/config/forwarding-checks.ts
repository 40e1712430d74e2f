import { foldName } from '../http/index.ts';
import type { ConfigFile } from './config-file.ts';
import { RULES_BY_DEFAULT } from './forwarding-schema.ts';
import { asMap } from './raw.ts';

/** Names under `forwarding_headers` as they stand in the file, which a mistake elsewhere in it may have kept from being read. */
export interface ListedHeaders {
  readonly remove: readonly string[];
  readonly keep: readonly string[];
}

export function listedHeaders(file: ConfigFile): ListedHeaders {
  const value = asMap(file.value).forwarding_headers;
  if (Array.isArray(value)) return { remove: value.filter(isText), keep: [] };
  const { remove, keep } = asMap(value);
  return { remove: textsOf(remove), keep: textsOf(keep) };
}

/** What the two lists say about one another, and about what is removed anyway. */
export function checkForwardingHeaders(file: ConfigFile): void {
  const { remove, keep } = listedHeaders(file);
  const removed = new Set(remove.map(foldName));
  for (const [index, name] of keep.entries()) {
    const path = ['forwarding_headers', 'keep', index];
    if (removed.has(foldName(name))) file.add(path, `${file.shown(path)} is listed under "remove", too`);
    else if (RULES_BY_DEFAULT.get(name) === undefined)
      file.add(path, 'nothing removes this field: leave it out', { severity: 'warning' });
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(isText) : [];
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
