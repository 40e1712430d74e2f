import type { Path } from './path.ts';

/** What messages about a file may not repeat. */
export interface Secrecy {
  /** The names of keys whose values are secrets. */
  readonly keys: readonly string[];
  /** Whether the value at a path is, or may hold, a secret. */
  hides(path: Path): boolean;
}
