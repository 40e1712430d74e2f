import { DIGEST_DIGITS, digestOf, type Steps } from '../core/index.ts';
import type { NamedItems } from './kept-parts.ts';

/** One of possibly thousands of items of the same kind, such as routes. */
interface ConfigItem {
  /** Equal for equal items. */
  readonly key: string;
  read(): unknown;
}

const LINE_FEED = 0x0a;

/**
 * Writes items into memory that all threads share, so that passing them on costs little and they take no heap. Each item is a line
 * with its digest and its JSON.
 */
export function writeItems(items: readonly unknown[]): Uint8Array {
  const lines = items.map(item => {
    // Has no line feeds.
    const text = JSON.stringify(item);
    return `${digestOf(text)}${text}\n`;
  });
  const text = lines.join('');
  const memory = new SharedArrayBuffer(Buffer.byteLength(text));
  Buffer.from(memory).write(text);
  return new Uint8Array(memory);
}

/** Returns the items in order. Items are parsed only when needed. */
export function* itemsIn(bytes: Uint8Array): Generator<ConfigItem> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < text.length; ) {
    const from = at + DIGEST_DIGITS;
    const end = text.indexOf(LINE_FEED, from);
    yield {
      key: text.toString('latin1', at, from),
      read: () => JSON.parse(text.toString('utf8', from, end)),
    };
    at = end + 1;
  }
}

/**
 * Reads named items. Items with a known key stay the same objects. If nothing changed, so does the whole list, so that no code has
 * to compare the items again.
 */
export function* readItems<Value>(
  bytes: Uint8Array,
  before: NamedItems<Value> | undefined,
): Steps<NamedItems<Value>> {
  if (before !== undefined && Buffer.compare(before.bytes, bytes) === 0) return { ...before, bytes };
  const byKey = new Map<string, readonly [string, Value]>();
  const byName: Record<string, Value> = {};
  for (const { key, read } of itemsIn(bytes)) {
    const item = before?.byKey.get(key) ?? (read() as readonly [string, Value]);
    byKey.set(key, item);
    byName[item[0]] = item[1];
    yield;
  }
  return { bytes, byKey, byName };
}
