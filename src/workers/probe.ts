import type { HostPort } from '../config/index.ts';
import type { Network } from '../core/index.ts';
import type { BoundAddresses } from '../server/index.ts';

/**
 * Finds out whether this process may listen at these addresses, alone. Listeners that share a port with each other share it with those
 * of another process of the same user as well, which would then take some of the clients. Rejects with Node's error.
 */
export async function probe({ http, redirect, grpc }: BoundAddresses, network: Network): Promise<void> {
  for (const address of [http, redirect, grpc]) {
    // The system picks a free port where the configuration says 0.
    if (address !== null && address.port !== 0) await listenOnce(address, network);
  }
}

async function listenOnce({ host, port }: HostPort, network: Network): Promise<void> {
  const server = network.createServer({}, socket => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  await new Promise(resolve => server.close(resolve));
}
