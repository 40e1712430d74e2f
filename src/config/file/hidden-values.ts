import type { Path } from './path.ts';

/** Says what messages about a file must not repeat. */
export interface Secrecy {
  /** The names of keys whose values are secrets. */
  readonly keys: readonly string[];
  /** Whether the value at a path is or may contain a secret. */
  hides(path: Path): boolean;
}
