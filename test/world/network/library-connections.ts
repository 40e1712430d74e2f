import net, { type NetConnectOpts } from 'node:net';
import type { Wires } from './wires.ts';

/**
 * Has libraries that make connections of their own, such as ioredis, make them in a world: in the process that runs. Returns what undoes
 * it.
 */
export function takeOverConnections(wires: Wires): () => void {
  const before = net.createConnection;
  const createConnection = (options: NetConnectOpts) => {
    const network = wires.networks.get(wires.kernel.current);
    if (network === undefined) throw new Error('nobody in this world makes this connection');
    return network.connect(options).asSocket;
  };
  Object.assign(net, { createConnection });
  return () => Object.assign(net, { createConnection: before });
}
