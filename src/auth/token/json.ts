import { isUtf8 } from 'node:buffer';

/** A JSON object as `JSON.parse` makes it. Read its members with `member` only. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The JSON object in these bytes (UTF-8), or null when they hold something else. Of duplicate members the last counts.
 * `JSON.parse` treats `__proto__` as an ordinary member, which is harmless as long as objects are not merged.
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  if (!isUtf8(bytes)) return null;
  try {
    const value: unknown = JSON.parse(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'),
    );
    return isJsonObject(value) ? value : null;
  } catch {
    // Drop the error: its message quotes the text, which may be a secret.
    return null;
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads own members only: an operator may name a claim `constructor`. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
