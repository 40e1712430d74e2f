import { isMap } from './diagnostic.ts';
import type { LimitsFiles } from './limits-files.ts';

/** A line of a file, as messages name it. */
export interface FilePlace {
  readonly file: string;
  readonly line: number;
}

/** A place, or that of a map and of its keys. */
type Branch = FilePlace | { readonly place: FilePlace; readonly keys: ReadonlyMap<string, Branch> };

/** Where the keys of the limits files are written. Keeps no more of the files than that. */
export class KeyPlaces {
  readonly #keys: ReadonlyMap<string, Branch>;

  constructor(files: LimitsFiles | null) {
    this.#keys = files === null ? new Map() : branchesOf(files, [], files.value);
  }

  /** Where a key is written; `null` if it is not, so that its default applies. */
  of(path: readonly string[]): FilePlace | null {
    let keys: ReadonlyMap<string, Branch> | null = this.#keys;
    let place: FilePlace | null = null;
    for (const key of path) {
      const branch: Branch | undefined = keys?.get(key);
      if (branch === undefined) return null;
      [place, keys] = 'keys' in branch ? [branch.place, branch.keys] : [branch, null];
    }
    return place;
  }
}

function branchesOf(files: LimitsFiles, path: readonly string[], value: unknown): Map<string, Branch> {
  const branches = new Map<string, Branch>();
  if (!isMap(value)) return branches;
  for (const [key, part] of Object.entries(value)) {
    const place = files.placeOf([...path, key], 'key');
    branches.set(key, isMap(part) ? { place, keys: branchesOf(files, [...path, key], part) } : place);
  }
  return branches;
}
