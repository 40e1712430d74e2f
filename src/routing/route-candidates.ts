import type { RoutePattern, Segment } from './pattern.ts';

/** A common beginning of patterns, segment by segment. */
interface Node {
  readonly literals: Map<string, Node>;
  parameter: Node | null;
  /** Routes that end here, by index. */
  readonly ends: number[];
  /** Routes that end in `**` here. */
  readonly tails: number[];
}

/** Finds the routes whose paths overlap with a pattern's, without checking each: files may have ten thousand of both. */
export class RouteCandidates {
  readonly #root = newNode();

  constructor(routes: readonly RoutePattern[]) {
    for (const [index, { segments }] of routes.entries()) this.#add(segments, index);
  }

  /** Returns the indices, in order, of all routes that share at least one path with `pattern`. */
  overlapping({ segments }: RoutePattern): number[] {
    const found: number[] = [];
    collect(this.#root, segments, 0, found);
    return found.sort((a, b) => a - b);
  }

  #add(segments: readonly Segment[], index: number): void {
    let node = this.#root;
    for (const segment of segments) {
      if (segment.kind === 'tail') {
        node.tails.push(index);
        return;
      }
      node = segment.kind === 'literal' ? literalAfter(node, segment.folded) : parameterAfter(node);
    }
    node.ends.push(index);
  }
}

function collect(node: Node, segments: readonly Segment[], at: number, found: number[]): void {
  for (const index of node.tails) found.push(index);
  const segment = segments[at];
  const all = segment?.kind === 'tail';
  if (all || segment === undefined) for (const index of node.ends) found.push(index);
  if (segment === undefined) return;
  for (const next of nodesAfter(node, segment)) collect(next, segments, all ? at : at + 1, found);
}

/** Returns the nodes that a segment leads to: all for `**` and a parameter; its own and the parameter's for a literal. */
function nodesAfter({ literals, parameter }: Node, segment: Segment): Node[] {
  const others = parameter === null ? [] : [parameter];
  if (segment.kind !== 'literal') return [...literals.values(), ...others];
  const literal = literals.get(segment.folded);
  return literal === undefined ? others : [literal, ...others];
}

function newNode(): Node {
  return { literals: new Map(), parameter: null, ends: [], tails: [] };
}

function literalAfter(node: Node, folded: string): Node {
  const next = node.literals.get(folded) ?? newNode();
  node.literals.set(folded, next);
  return next;
}

function parameterAfter(node: Node): Node {
  node.parameter ??= newNode();
  return node.parameter;
}
