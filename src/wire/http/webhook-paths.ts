import { decodeBytes } from './target.ts';

/** The possible next parts after a part of a webhook's path. */
interface Node {
  readonly next: Map<string, Node>;
  /** True if a path may end here. */
  ends: boolean;
}

/** No literal part is empty, so this represents a parameter. */
const PARAMETER = '';

/** Finds the addresses of webhooks in paths. The cost depends on the length of the path only, not on the number of webhooks. */
export class WebhookPaths {
  readonly #root: Node = newNode();

  /** @param patterns the paths of the webhooks, such as `/hooks/{id}` */
  constructor(patterns: readonly string[]) {
    for (const pattern of patterns) {
      let node = this.#root;
      for (const part of pattern.split('/').filter(each => each !== '' && each !== '**')) {
        const key = part.startsWith('{') ? PARAMETER : (partsOf(part)[0] ?? PARAMETER);
        const next = node.next.get(key) ?? newNode();
        node.next.set(key, next);
        node = next;
      }
      node.ends = true;
    }
  }

  /**
   * Whether some part of the path is the address of a webhook, in any letter case, encoded up to twice, and with dots, slashes or
   * `;` added.
   */
  isIn(path: string): boolean {
    let nodes: Node[] = [this.#root];
    for (const part of partsOf(path)) {
      if (nodes.some(({ ends }) => ends)) return true;
      const next = nodes.flatMap(node => [node.next.get(part), node.next.get(PARAMETER)]);
      nodes = [this.#root, ...next.filter(node => node !== undefined)];
    }
    return nodes.some(({ ends }) => ends);
  }
}

function newNode(): Node {
  return { next: new Map(), ends: false };
}

function partsOf(path: string): string[] {
  const parts = decodeBytes(decodeBytes(path)).toLowerCase().split(/[/\\]/);
  return parts.map(part => part.replace(/;.*$/s, '')).filter(part => part !== '' && part !== '.');
}
