/** A part of a file as it was read, whatever it is: a map, or an empty one in the place of anything else. */
export function asMap(value: unknown): Readonly<Record<string, unknown>> {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMap ? (value as Record<string, unknown>) : {};
}
