/** Returns the value if it is a map, else an empty map. */
export function asMap(value: unknown): Readonly<Record<string, unknown>> {
  return isMap(value) ? value : {};
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
