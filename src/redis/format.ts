/**
 * The version of what gateways keep in Redis: the names of keys and channels, and what their values mean. Part of every name, so
 * that gateways of two formats never misread each other. Raise it with any change that an older gateway would misread, and say in
 * UPGRADE.md what that means for a rolling upgrade. `test/store/format.test.ts` notices such a change.
 */
export const FORMAT = 1;

/** How every key and channel begins. `prefix`: the operator's. */
export function formatPrefix(prefix: string): string {
  return `${prefix}${FORMAT}:`;
}
