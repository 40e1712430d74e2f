import { atOnce, MAX_METHOD_BYTES, METHODS, type Steps } from '../../core/index.ts';

/** The requests that a route matches. A route with several hosts has a pattern for each. */
export interface RoutePattern {
  /** The methods of the route; `null` for every method that the gateway serves. */
  readonly methods: readonly string[] | null;
  /**
   * The host of the requests in its canonical form, or `*.` and a domain for all names with one more label. `null` for requests
   * whose host no pattern matches; `EVERY_HOST` for all requests, before every other pattern.
   */
  readonly host: string | null;
  /** The path as the operator wrote it. */
  readonly path: string;
  readonly segments: readonly Segment[];
  /** The names of the `{name}` segments, in order. */
  readonly parameters: readonly string[];
}

/** The host of the patterns that apply to every host and precede all others: the gateway's own. */
export const EVERY_HOST = '*';

/** Returns the wildcard pattern that matches a host without its own pattern: `*.example.com` for `a.example.com`. */
export function wildcardOf(host: string): string | null {
  const dot = host.indexOf('.');
  return dot === -1 ? null : `*${host.slice(dot)}`;
}

export type Segment =
  /** Matches one segment of a path; `folded` comes from `foldSegment`. */
  | { readonly kind: 'literal'; readonly folded: string }
  /** `{name}`: any one segment. */
  | { readonly kind: 'parameter'; readonly name: string }
  /** `**`: all following segments, or none. */
  | { readonly kind: 'tail' };

/**
 * Returns the form in which literal segments are compared: percent-decoded, with ASCII letters in lower case. Otherwise
 * `Things%3Aall` could bypass the route for `things:all` to a backend that treats both as the same. Returns `null` if the bytes
 * are not UTF-8, which equals no literal.
 *
 * Lower-cases before decoding, while everything is ASCII: Unicode has letters whose lower case is ASCII (U+212A KELVIN SIGN
 * becomes `k`), and to a backend `/%E2%84%AAeys` is not `/keys`.
 */
export function foldSegment(canonical: string): string | null {
  const folded = canonical.toLowerCase();
  if (!folded.includes('%')) return folded;
  try {
    return decodeURIComponent(folded);
  } catch {
    return null;
  }
}

/**
 * Returns the part of a segment before the first `;` or `%3B`, where some backends cut it. Literals are compared with that part.
 */
export function withoutParameters(canonical: string): string {
  const plain = canonical.indexOf(';');
  const escaped = canonical.indexOf('%3B');
  if (plain === -1 && escaped === -1) return canonical;
  return canonical.slice(0, Math.min(...[plain, escaped].filter(at => at !== -1)));
}

/**
 * Returns the shape of a pattern. Patterns with the same shape match the same paths: only spelling and parameter names differ.
 */
function shapeOf(segments: readonly Segment[]): string {
  // The "=" distinguishes literals from the two signs, whatever their escapes decode to. None decodes to a slash.
  return segments
    .map(segment => (segment.kind === 'literal' ? `=${segment.folded}` : SHAPE_SIGN[segment.kind]))
    .join('/');
}

const SHAPE_SIGN = { parameter: '{}', tail: '**' } as const;

/**
 * Methods that are never served: TRACE would reveal what the gateway adds, CONNECT would turn it into a tunnel, and PRI begins
 * HTTP/2.
 */
const NEVER_SERVED: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'PRI']);

/** The methods that reach a route without a list of methods: those that Node's parser knows, except those never served. */
export const ROUTABLE_METHODS: readonly string[] = METHODS.filter(method => !NEVER_SERVED.has(method));

const ROUTABLE: ReadonlySet<string> = new Set(ROUTABLE_METHODS);

/** Whether a route without a list of methods serves this one. */
export function isRoutable(method: string): boolean {
  return ROUTABLE.has(method);
}

/** Whether a route that a request matches serves its method. Rare methods are served only by routes that name them. */
export function servesMethod(methods: RoutePattern['methods'], method: string): boolean {
  return isRoutable(method) || methods?.includes(method) === true;
}

/** RFC 9110, 9.1 and 5.6.2: a token. */
export const METHOD_PATTERN: RegExp = new RegExp(`^[!#$%&'*+.^_\`|~0-9A-Za-z-]{1,${MAX_METHOD_BYTES}}$`);
export const NO_METHOD = 'expected a method such as GET or POST, in upper case';
const OF_ALL: ReadonlySet<string> = new Set(['*', 'ANY', 'ALL']);

/** Why a route cannot name a method; `null` if it can. */
export function whyNoMethod(method: string): string | null {
  const upper = method.toUpperCase();
  if (isRoutable(method)) return null;
  if (NEVER_SERVED.has(upper)) return `the gateway does not serve ${upper}`;
  if (upper === GRPC_METHOD) return 'gRPC calls have routes of their own: write "grpc" in place of "path"';
  if (OF_ALL.has(upper)) return 'leave out "methods" to match every method';
  if (isRoutable(upper)) return `methods are case-sensitive: write "${upper}"`;
  if (METHOD_PATTERN.test(method)) return null;
  return NO_METHOD;
}

/** Whether a route that names these methods matches this one. GET includes HEAD. */
export function takesMethod(methods: readonly string[], method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'));
}

/** The method of patterns for gRPC calls. No HTTP request has it: see `whyNoMethod`. */
export const GRPC_METHOD = 'GRPC';

/** Represents every method of a service in a pattern. */
export const EVERY_METHOD = '*';

/** Formats a pattern as in limits.yaml: `GET,HEAD api.example.com/v1/things/{id}`. */
export function nameOf({ methods, host, path }: RoutePattern): string {
  const place =
    host === null || host === EVERY_HOST ? path : `${host}${path.startsWith('/') ? '' : '/'}${path}`;
  return methods === null ? place : `${methods.join(',')} ${place}`;
}

export function isGrpcPattern({ methods }: RoutePattern): boolean {
  return methods?.[0] === GRPC_METHOD;
}

/**
 * Returns the indices of pairs of patterns that match the same requests, the earlier first: same host and shape, and a method in
 * common. HEAD and GET do not conflict (the route that names HEAD wins), nor do a method and "every method" (the route that names
 * it wins). Of three equal patterns, the second and third are each paired with the first.
 */
export function findConflicts(patterns: readonly RoutePattern[]): (readonly [number, number])[] {
  const owners = new Map<string, number>();
  return patterns.flatMap((pattern, index) => {
    const place = placeOf(pattern);
    const earlier = new Set<number>();
    for (const method of pattern.methods ?? ['']) {
      const key = `${method} ${place}`;
      const owner = owners.get(key);
      if (owner === undefined) owners.set(key, index);
      else earlier.add(owner);
    }
    return Array.from(earlier, owner => [owner, index] as const);
  });
}

/** Returns the host and the shape of the path: patterns with equal ones match the same requests, apart from methods. */
export function placeOf({ host, segments }: RoutePattern): string {
  return `${host ?? ''} ${shapeOf(segments)}`;
}

export interface RouteEntry<T> {
  readonly pattern: RoutePattern;
  readonly value: T;
}

/** The route of a request, with the values of its parameters. */
export interface RouteMatch<T> {
  readonly value: T;
  /** The values of the pattern's parameters, in order, as they appear in the canonical path: not decoded. */
  readonly params: readonly string[];
}

/** Finds the route of a request. */
export interface Routes<T> {
  /**
   * Returns the route for a canonical path, or `null` if no route matches. `method` is `GRPC` for a gRPC call; `host` is
   * canonical (`readHost`), '' if there is none.
   */
  find(method: string, host: string, path: string): RouteMatch<T> | null;
}

/** A node of the tree; each segment of a path leads from one to the next. */
interface Node<T> {
  /** The literal that leads here; '' after a parameter and at the root. */
  readonly folded: string;
  /** Child nodes: none, one, or several by their literals. Most nodes have one, and a map costs 200 bytes. */
  literals: Node<T> | Map<string, Node<T>> | null;
  parameter: Node<T> | null;
  /** Routes for a path that ends here. */
  end: Choice<T> | null;
  /** Routes that end in `**` here. */
  tail: Choice<T> | null;
  readonly parameterCount: number;
}

interface Choice<T> {
  byMethod: Map<string, Found<T>> | null;
  everyMethod: Found<T> | Nowhere | null;
}

/** Ends the search: no less specific route may match the request. */
const NOWHERE = Symbol('nowhere');
type Nowhere = typeof NOWHERE;

/** A match whose parameters are filled in on the way back from the end of the path. */
interface Found<T> {
  readonly value: T;
  readonly params: string[];
}

/**
 * Finds the route of a request: of those that match, the one that precedes all others (precedence.ts). HEAD counts as GET unless
 * a route of the same path names HEAD.
 *
 * Each host that a pattern names has its own tree. If the most specific one has no route, the next is tried: the host's, its
 * wildcard's, and the one without a host. Without hosts there is one tree.
 */
export class RouteTable<T> implements Routes<T> {
  /** The routes without a host, and those of every host. */
  #general: RouteTree<T> = atOnce(RouteTree.inSteps<T>([], []));
  /** `null` if no pattern names a host. */
  #hosts: HostTrees<T> | null = null;

  /**
   * Throws if two entries match the same requests; the configuration loader calls `findConflicts` first.
   *
   * @param closed paths that no less specific entry may match, whatever its host
   */
  constructor(entries: readonly RouteEntry<T>[], closed: readonly RoutePattern[] = []) {
    for (const [first, second] of findConflicts(entries.map(entry => entry.pattern))) {
      throw new Error(
        `routes ${first} and ${second} match the same requests: ${entries[second]?.pattern.path}`,
      );
    }
    atOnce(this.#fill(entries, closed));
  }

  /** Makes a table as the constructor does, of entries that are known not to conflict. */
  static *inSteps<T>(
    entries: readonly RouteEntry<T>[],
    closed: readonly RoutePattern[] = [],
  ): Steps<RouteTable<T>> {
    const table = new RouteTable<T>([]);
    yield* table.#fill(entries, closed);
    return table;
  }

  *#fill(entries: readonly RouteEntry<T>[], closed: readonly RoutePattern[]): Steps<void> {
    const byHost = Map.groupBy(entries, ({ pattern }) => pattern.host);
    const everywhere = byHost.get(EVERY_HOST) ?? [];
    const general = byHost.get(null) ?? [];
    byHost.delete(EVERY_HOST);
    byHost.delete(null);
    this.#general = yield* RouteTree.inSteps([...general, ...everywhere], closed);
    if (byHost.size === 0) return;
    const named = new Map<string, RouteTree<T>>();
    for (const [host, of] of byHost) named.set(host ?? '', yield* RouteTree.inSteps(of, closed));
    this.#hosts = { every: yield* RouteTree.inSteps(everywhere, []), named };
  }

  find(method: string, host: string, path: string): RouteMatch<T> | null {
    return (
      (this.#hosts === null ? null : findByHost(this.#hosts, method, host, path)) ??
      this.#general.find(method, path)
    );
  }
}

/** The trees of a table whose patterns name hosts. */
interface HostTrees<T> {
  /** The routes of every host, which precede all others. */
  readonly every: RouteTree<T>;
  /** The trees of hosts and wildcards, as patterns name them. No host begins with a star. */
  readonly named: ReadonlyMap<string, RouteTree<T>>;
}

function findByHost<T>(
  { every, named }: HostTrees<T>,
  method: string,
  host: string,
  path: string,
): RouteMatch<T> | null {
  const found = every.find(method, path) ?? named.get(host)?.find(method, path);
  if (found !== undefined && found !== null) return found;
  return named.get(wildcardOf(host) ?? '')?.find(method, path) ?? null;
}

/**
 * Finds the route of a path among the routes of one host.
 *
 * A tree of our own, because the maintained router libraries each decode and split paths in their own way, and a route must be
 * chosen by exactly the path that is sent upstream. Each node is tried at most once, and segments longer than every literal are
 * skipped, so the cost depends on the table, not on the length of the path.
 */
class RouteTree<T> {
  readonly #root: Node<T> = newNode('', 0);
  /** The routes of gRPC calls, separate from the tree, which ignores letter case. */
  readonly #grpc: GrpcTable<T>;
  #longestLiteral = 0;

  private constructor(calls: readonly RouteEntry<T>[]) {
    this.#grpc = new GrpcTable(calls);
  }

  static *inSteps<T>(
    entries: readonly RouteEntry<T>[],
    closed: readonly RoutePattern[],
  ): Steps<RouteTree<T>> {
    const tree = new RouteTree(entries.filter(({ pattern }) => isGrpcPattern(pattern)));
    for (const { pattern, value } of entries) {
      if (!isGrpcPattern(pattern)) tree.#add(pattern, value);
      yield;
    }
    for (const pattern of closed) tree.#choiceOf(pattern).choice.everyMethod ??= NOWHERE;
    return tree;
  }

  find(method: string, path: string): RouteMatch<T> | null {
    if (method === GRPC_METHOD) return this.#grpc.find(path);
    const last = path.length - 1;
    const end = path.charCodeAt(last) === SLASH ? last : endOfNames(path);
    const found = this.#walk(this.#root, method, path, 1, end);
    return found === NOWHERE ? null : found;
  }

  /** Matches the rest of the path, from `start` (the first character of a segment) to `end`, against `node`. */
  #walk(node: Node<T>, method: string, path: string, start: number, end: number): Found<T> | Nowhere | null {
    if (start > end) {
      const found = node.end === null ? null : choose(node.end, method);
      if (found !== null) return found;
    } else {
      const slash = path.indexOf('/', start);
      const found = this.#walkSegment(node, method, path, start, slash === -1 ? end : slash, end);
      if (found !== null) return found;
    }
    return node.tail === null ? null : choose(node.tail, method);
  }

  #walkSegment(
    node: Node<T>,
    method: string,
    path: string,
    start: number,
    stop: number,
    end: number,
  ): Found<T> | Nowhere | null {
    if (node.literals !== null) {
      const literal = literalAfter(node, this.#folded(path, start, stop) ?? '');
      const found = literal === null ? null : this.#walk(literal, method, path, stop + 1, end);
      if (found !== null) return found;
    }
    if (node.parameter === null || start === stop) return null;
    const found = this.#walk(node.parameter, method, path, stop + 1, end);
    if (found !== null && found !== NOWHERE) found.params[node.parameterCount] = path.slice(start, stop);
    return found;
  }

  /** Returns a segment in the form of literals; `null`, without decoding it, if it is longer than all of them. */
  #folded(path: string, start: number, stop: number): string | null {
    const segment = withoutParameters(path.slice(start, stop));
    return segment.length <= this.#longestLiteral ? foldSegment(segment) : null;
  }

  #add(pattern: RoutePattern, value: T): void {
    const { choice, parameterCount } = this.#choiceOf(pattern);
    addToChoice(choice, pattern.methods, { value, params: new Array<string>(parameterCount) });
  }

  #choiceOf(pattern: RoutePattern): { readonly choice: Choice<T>; readonly parameterCount: number } {
    let node = this.#root;
    for (const segment of pattern.segments) {
      if (segment.kind === 'literal') node = this.#addLiteral(node, segment.folded);
      else if (segment.kind === 'parameter') node = parameterAfter(node);
    }
    const place = pattern.segments.at(-1)?.kind === 'tail' ? 'tail' : 'end';
    const choice = node[place] ?? { byMethod: null, everyMethod: null };
    node[place] = choice;
    return { choice, parameterCount: node.parameterCount };
  }

  #addLiteral(node: Node<T>, folded: string): Node<T> {
    const known = literalAfter(node, folded);
    if (known !== null) return known;
    // A path needs at most nine characters per character of a literal: three escaped bytes per UTF-16 unit.
    this.#longestLiteral = Math.max(this.#longestLiteral, 9 * folded.length);
    const added: Node<T> = newNode(folded, node.parameterCount);
    const { literals } = node;
    if (literals === null) node.literals = added;
    else if (literals instanceof Map) literals.set(folded, added);
    else
      node.literals = new Map([
        [literals.folded, literals],
        [folded, added],
      ]);
    return added;
  }
}

const SLASH = 0x2f;
const SEMICOLON = 0x3b;

/** Returns the end of a path without a last segment that consists only of parameters: some backends treat `/a/;x` as `/a/`. */
function endOfNames(path: string): number {
  const slash = path.lastIndexOf('/');
  const isOnlyParameter = path.charCodeAt(slash + 1) === SEMICOLON || path.startsWith('%3B', slash + 1);
  return isOnlyParameter ? slash : path.length;
}

function newNode<T>(folded: string, parameterCount: number): Node<T> {
  return { folded, literals: null, parameter: null, end: null, tail: null, parameterCount };
}

function literalAfter<T>({ literals }: Node<T>, folded: string): Node<T> | null {
  if (literals === null) return null;
  if (literals instanceof Map) return literals.get(folded) ?? null;
  return literals.folded === folded ? literals : null;
}

function parameterAfter<T>(node: Node<T>): Node<T> {
  node.parameter ??= newNode('', node.parameterCount + 1);
  return node.parameter;
}

function addToChoice<T>(choice: Choice<T>, methods: readonly string[] | null, found: Found<T>): void {
  if (methods === null) {
    choice.everyMethod = found;
    return;
  }
  choice.byMethod ??= new Map();
  for (const method of methods) choice.byMethod.set(method, found);
  // A route that names HEAD replaces this one, in whichever order they are added.
  if (takesMethod(methods, 'HEAD') && !choice.byMethod.has('HEAD')) choice.byMethod.set('HEAD', found);
}

function choose<T>(choice: Choice<T>, method: string): Found<T> | Nowhere | null {
  const found = choice.byMethod?.get(method) ?? choice.everyMethod;
  if (found === null || found === NOWHERE || found.params.length === 0) return found;
  return { value: found.value, params: new Array<string>(found.params.length) };
}

/**
 * Finds the route of a gRPC call by its path, `/package.Service/Method`, case-sensitively: a route that names the method precedes
 * the one for all methods of its service.
 */
class GrpcTable<T> {
  readonly #matches: ReadonlyMap<string, RouteMatch<T>>;

  constructor(entries: readonly RouteEntry<T>[]) {
    this.#matches = new Map(
      entries.map(({ pattern, value }) => [`/${pattern.path}`, { value, params: [] }] as const),
    );
  }

  find(path: string): RouteMatch<T> | null {
    const service = path.slice(0, path.lastIndexOf('/') + 1);
    return this.#matches.get(path) ?? this.#matches.get(service + EVERY_METHOD) ?? null;
  }
}
