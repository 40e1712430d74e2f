import { DIGEST_DIGITS, digestOf, type Steps } from '../core/index.ts';
import type { NamedItems } from './kept-parts.ts';

/** One of thousands of things of one kind. */
interface ConfigItem {
  /** Equal for equal items. */
  readonly key: string;
  read(): unknown;
}

const LINE_FEED = 0x0a;

/**
 * Writes items into memory that all threads share, so that a message with them is short and no heap holds them: a line for each,
 * of its digest and its JSON.
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

/** Returns the items in order. Only those that are read are parsed. */
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
 * Reads named items. Those with a known key are the same objects, and so are all together if nothing changed: nobody has to compare
 * them again.
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
