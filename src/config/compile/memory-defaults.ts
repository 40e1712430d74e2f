import { type Machine, usableMemory } from '../../core/index.ts';
import { type ConfigFile, isMap, type RawMap } from '../file/index.ts';
import { formatSize } from '../values/index.ts';

const MIB = 1024 ** 2;
const LEAST_BUFFERED = 64 * MIB;
const MOST_BUFFERED = 1024 * MIB;

/**
 * Fills in the caps that a file leaves to the memory of this machine. Runs before the file is validated, so that all that reads it
 * sees the same numbers.
 */
export function fillMemoryDefaults(file: ConfigFile, machine: Machine): void {
  if (!isMap(file.value)) return;
  fill(file.value, { caps: {} });
  fill(file.value.caps, { buffered: formatSize(bufferedBytes(usableMemory(machine))) });
}

/** Adds the keys that a map lacks. In place, since the file fills in the values of variables later. */
function fill(map: unknown, defaults: RawMap): void {
  if (!isMap(map)) return;
  for (const [key, value] of Object.entries(defaults))
    if (map[key] === undefined) Object.assign(map, { [key]: value });
}

/** A quarter of the memory, in whole MiB. */
function bufferedBytes(memoryBytes: number): number {
  const quarter = Math.floor(memoryBytes / 4 / MIB) * MIB;
  return Math.min(Math.max(quarter, LEAST_BUFFERED), MOST_BUFFERED);
}
