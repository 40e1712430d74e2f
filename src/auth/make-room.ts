/**
 * Makes room for one more entry in a map whose oldest entries expire first: drops the expired ones from the front and, when
 * that is not enough, the oldest.
 *
 * @returns how many entries were dropped before they expired
 */
export function makeRoom<V>(
  entries: Map<string, V>,
  maxEntries: number,
  isOver: (value: V) => boolean,
): number {
  let evicted = 0;
  for (const [key, value] of entries) {
    const over = isOver(value);
    if (!over && entries.size < maxEntries) break;
    entries.delete(key);
    if (!over) evicted += 1;
  }
  return evicted;
}
