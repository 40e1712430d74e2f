import type { Cluster, Redis } from 'ioredis';

/** What ioredis does to learn the slots; not part of its published types. */
interface LearnsSlots {
  getInfoFromNode(node: AskedNode | undefined, done: (error?: Error) => void): void;
}

type AskedNode = Pick<Redis, 'duplicate' | 'options'>;
type OnSlots = (error: Error | null, slots?: unknown) => void;
type AsksCluster = (name: string, reply: OnSlots) => unknown;

/**
 * Lets a cluster name no host where it means the one that was asked (`cluster-preferred-endpoint-type unknown-endpoint`, or a node
 * that does not know its own address). ioredis would leave out such nodes, and never connect.
 */
export function useAskedHosts(cluster: Cluster): void {
  const learning = cluster as unknown as LearnsSlots;
  const learn = learning.getInfoFromNode.bind(cluster);
  learning.getInfoFromNode = (node, done) => learn(node && fillingHosts(node), done);
}

function fillingHosts(node: AskedNode): AskedNode {
  return {
    options: node.options,
    duplicate: override => {
      const copy = node.duplicate(override);
      const asks = copy as unknown as { cluster: AsksCluster };
      const ask = asks.cluster.bind(copy);
      asks.cluster = (name, reply) =>
        ask(name, (error, slots) => reply(error, fillHosts(slots, node.options.host)));
      return copy;
    },
  };
}

/** `slots`: for each range its first and last slot, and then its nodes, each a list that begins with its host. */
function fillHosts(slots: unknown, host: string | undefined): unknown {
  if (!Array.isArray(slots)) return slots;
  const fill = (item: unknown) =>
    Array.isArray(item) && isUnknown(item[0]) ? [host, ...item.slice(1)] : item;
  return slots.map(range => (Array.isArray(range) ? range.map(fill) : range));
}

function isUnknown(host: unknown): boolean {
  return host === null || host === '' || host === '?';
}

/** Redirections name no host either. `node`: as `host:port`. */
export function isWithoutHost(node: string): boolean {
  return node.startsWith(':') || node.startsWith('?:');
}
