import type { Document, Pair, ParsedNode, Scalar } from 'yaml';
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { PlacedError, Position } from './place.ts';
import type { YamlText } from './yaml-text.ts';

/** Maximum values, far more than any configuration needs: with aliases, a few lines can expand to billions. */
const MAX_VALUES = 100_000;

/** A value of a YAML file, with where and how it is written. */
export interface YamlNode {
  /** The value with aliases, merge keys and variables resolved. Maps have no prototype. */
  value: unknown;
  readonly place: Position;
  /** Where its key is written; null in lists and at the top. */
  readonly keyPlace: Position | null;
  /** A scalar as written, before variables were resolved; null for maps and lists. */
  readonly written: string | null;
  /** The members of a map by key, or of a list by index (`"0"`, `"1"`, ...). */
  readonly children: ReadonlyMap<string, YamlNode>;
  /** The number of values in this subtree, each as often as aliases repeat it. */
  readonly count: number;
  /** Whether an error in this value was already reported, so that no other message is needed. */
  readonly broken: boolean;
}

export interface YamlTree {
  readonly root: YamlNode;
  readonly errors: readonly PlacedError[];
}

/** Builds the tree of a parsed document. The root of an alias bomb is marked broken. */
export function buildYamlTree(
  document: Document.Parsed,
  placeOf: YamlText['placeOf'],
  environment: Environment,
): YamlTree {
  const builder = new TreeBuilder(placeOf, environment);
  const root = builder.build(document.contents, null);
  if (root.count > MAX_VALUES) {
    builder.error(root.place, `aliases multiply this file to more than ${MAX_VALUES} values`);
    return { root: { ...root, value: null, children: new Map(), broken: true }, errors: builder.errors };
  }
  return { root, errors: builder.errors };
}

/** The node at `path`, or the innermost one that exists on the way there. */
export function nodeAt(
  root: YamlNode,
  path: readonly PropertyKey[],
): { readonly node: YamlNode; readonly exact: boolean } {
  let node = root;
  for (const key of path) {
    const child = node.children.get(String(key));
    if (child === undefined) return { node, exact: false };
    node = child;
  }
  return { node, exact: true };
}

/** Replaces the scalar at `path`, in its node and in the map or list that contains it. */
export function fillScalar(root: YamlNode, path: readonly PropertyKey[], value: unknown): void {
  const key = path.at(-1);
  const holder = nodeAt(root, path.slice(0, -1)).node;
  const node = holder.children.get(String(key));
  if (key === undefined || node === undefined) return;
  node.value = value;
  Object.assign(holder.value as object, { [key]: value });
}

/**
 * Makes the node at `from` a member of the map at the end of `to`. Does nothing if either is not there.
 *
 * @param without keys of members of that node to leave out
 */
export function shareNode(
  root: YamlNode,
  from: readonly PropertyKey[],
  to: readonly PropertyKey[],
  without: readonly string[],
): void {
  const key = String(to.at(-1));
  const shared = nodeAt(root, from);
  const holder = nodeAt(root, to.slice(0, -1));
  const { children, value } = holder.node;
  if (!shared.exact || !holder.exact || !(children instanceof Map)) return;
  const node = without.length === 0 ? shared.node : withoutChildren(shared.node, without);
  children.set(key, node);
  Object.assign(value as object, { [key]: node.value });
}

function withoutChildren(node: YamlNode, keys: readonly string[]): YamlNode {
  const children = new Map([...node.children].filter(([key]) => !keys.includes(String(key))));
  return {
    ...node,
    value: Object.fromEntries([...children].map(([key, { value }]) => [key, value])),
    children,
  };
}

class TreeBuilder {
  readonly errors: PlacedError[] = [];
  readonly #placeOf: YamlText['placeOf'];
  readonly #environment: Environment;
  /**
   * The node of each anchor so far; null while that node is being built. An alias reuses the node, so the work stays proportional
   * to the size of the file, however much aliases multiply it.
   */
  readonly #anchors = new Map<string, YamlNode | null>();
  #mergedKeys = 0;
  /** Whether a merge bomb was already reported. */
  #isBomb = false;

  constructor(placeOf: YamlText['placeOf'], environment: Environment) {
    this.#placeOf = placeOf;
    this.#environment = environment;
  }

  error({ line, column }: Position, message: string): void {
    this.errors.push({ line, column, message });
  }

  build(node: ParsedNode | null, keyPlace: Position | null): YamlNode {
    if (node === null) return leaf(null, '', keyPlace ?? { line: 1, column: 1 }, keyPlace);
    const place = this.#placeOf(node.range[0]);
    if (isAlias(node)) return this.#alias(node.source, place, keyPlace);
    if (node.tag !== undefined) {
      this.error(place, 'a tag ("!" and a word) has no meaning here: remove it, or put the value in quotes');
      return { ...leaf(null, '', place, keyPlace), broken: true };
    }
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, null);
    const built = isScalar(node)
      ? this.#scalar(node, place, keyPlace)
      : this.#collection(node, place, keyPlace);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, built);
    return built;
  }

  #alias(name: string, place: Position, keyPlace: Position | null): YamlNode {
    const target = this.#anchors.get(name);
    if (target) return { ...target, place, keyPlace };
    this.error(
      place,
      target === null
        ? 'this alias refers to a value that contains it'
        : 'no anchor above this alias has its name; a value that starts with "*" must be in quotes',
    );
    return { ...leaf(null, '', place, keyPlace), broken: true };
  }

  #scalar(node: Scalar.Parsed, place: Position, keyPlace: Position | null): YamlNode {
    if (typeof node.value !== 'string') return leaf(node.value, node.source, place, keyPlace);
    const resolved = resolveVariables(node.value, this.#environment);
    if (resolved.ok) return leaf(resolved.text, node.value, place, keyPlace);
    for (const message of resolved.errors) this.error(place, message);
    return { ...leaf(node.value, node.value, place, keyPlace), broken: true };
  }

  #collection(
    node: Exclude<ParsedNode, Scalar.Parsed>,
    place: Position,
    keyPlace: Position | null,
  ): YamlNode {
    const children = new Map<string, YamlNode>();
    if (isSeq(node)) {
      for (const [index, item] of node.items.entries()) children.set(String(index), this.build(item, null));
      const value = Array.from(children.values(), child => child.value);
      return { value, place, keyPlace, written: null, children, count: countOf(children), broken: false };
    }
    const broken = isMap(node) && !this.#fillMap(node.items, children);
    const value: Record<string, unknown> = Object.create(null);
    for (const [key, child] of children) value[key] = child.value;
    return { value, place, keyPlace, written: null, children, count: countOf(children), broken };
  }

  /** Returns false if keys may be missing because a merge failed. */
  #fillMap(pairs: readonly Pair<ParsedNode, ParsedNode | null>[], children: Map<string, YamlNode>): boolean {
    const merges: YamlNode[] = [];
    for (const { key, value } of pairs) {
      if (!isScalar(key)) continue; // The parser has reported it.
      const keyPlace = this.#placeOf(key.range[0]);
      const node = this.build(value, keyPlace);
      if (key.value === '<<' && key.type === 'PLAIN') merges.push(node);
      // zod skips a member of this name, so its content would go unchecked.
      else if (key.value === '__proto__') this.error(keyPlace, 'unknown key "__proto__"');
      else if (!children.has(String(key.value))) children.set(String(key.value), node);
    }
    // Merge last, because the map's own keys take precedence.
    return merges.map(node => this.#merge(node, children)).every(Boolean);
  }

  /** Merges `<<: *defaults` or `<<: [*a, *b]`, where the first wins. Returns false on failure. */
  #merge(node: YamlNode, children: Map<string, YamlNode>): boolean {
    if (node.broken) return false;
    const sources = Array.isArray(node.value) ? [...node.children.values()] : [node];
    for (const source of sources) {
      if (source.broken) return false;
      if (source.written !== null || Array.isArray(source.value)) {
        this.error(source.place, '"<<" merges maps, and this is not a map');
        return false;
      }
      // Check it during the merge, since a merge copies, unlike an alias.
      this.#mergedKeys += source.children.size;
      if (this.#mergedKeys > MAX_VALUES) {
        if (!this.#isBomb)
          this.error(source.place, `merging multiplies this file to more than ${MAX_VALUES} values`);
        this.#isBomb = true;
        return false;
      }
      for (const [key, child] of source.children) if (!children.has(key)) children.set(key, child);
    }
    return true;
  }
}

function leaf(value: unknown, written: string, place: Position, keyPlace: Position | null): YamlNode {
  return { value, written, place, keyPlace, children: NO_CHILDREN, count: 1, broken: false };
}

/** Shared by all scalars: ten thousand routes contain fifty thousand, and an empty map takes 200 bytes. */
const NO_CHILDREN: ReadonlyMap<string, YamlNode> = new Map();

function countOf(children: ReadonlyMap<string, YamlNode>): number {
  let count = 1;
  for (const child of children.values()) count += child.count;
  return count;
}

/** Variables as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Resolved =
  | { readonly ok: true; readonly text: string }
  /** What is wrong, one sentence per variable. */
  | { readonly ok: false; readonly errors: readonly string[] };

/** `$${`, a variable, or the start of an unclosed one. */
const VARIABLE = /\$\$\{|\$\{([^}]*)(\}?)/g;
/** A name and an optional default. */
const INSIDE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{).)*))?$/s;

// Messages repeat the text in the braces only if it is a name: anything else may be a secret.
const NO_NAME = `only a name, or a name with a default as in \${NAME:-text}, may be inside \${ }; write $\${ for a literal \${`;
const NOT_CLOSED = `a "\${" is not closed: write \${NAME}, or $\${ for a literal \${`;

/**
 * Replaces each `${NAME}` by the value of that variable; `$${` is a literal `${`. An unset variable is an error, not an empty
 * text: an empty host or path would be a valid configuration with another meaning. `${NAME:-text}` falls back to the text if
 * the variable is unset or empty, as in a shell. Values are not searched for further variables.
 */
export function resolveVariables(text: string, environment: Environment): Resolved {
  const errors: string[] = [];
  const resolved = text.replaceAll(VARIABLE, (_, inside?: string, end?: string) => {
    if (inside === undefined) return '${';
    const [, name, usual] = (end === '}' ? INSIDE.exec(inside) : null) ?? [];
    if (name === undefined) {
      errors.push(end === '}' ? NO_NAME : NOT_CLOSED);
      return '';
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (usual !== undefined) return value === undefined || value === '' ? usual : value;
    if (value === undefined) errors.push(`the environment variable ${name} is not set`);
    return value ?? '';
  });
  return errors.length === 0 ? { ok: true, text: resolved } : { ok: false, errors };
}
