import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port that was asked for and is taken. */
export class PortTaken extends Error {}

/** The port to use for a part of the demo. */
export interface ChosenPort {
  readonly port: number;
  /** The usual port, where it is taken and another one had to serve; else null. */
  readonly insteadOf: number | null;
}

/**
 * The port that was asked for, else the usual one, else one that is free.
 *
 * @throws PortTaken when a port was asked for that is taken: whoever asks for one expects it.
 */
export async function choosePort(asked: number | null, usual: number): Promise<ChosenPort> {
  if (asked !== null) {
    if (!(await isFree(asked)))
      throw new PortTaken(`port ${asked} is taken: choose another one, or none at all`);
    return { port: asked, insteadOf: null };
  }
  if (await isFree(usual)) return { port: usual, insteadOf: null };
  return { port: await anyFree(), insteadOf: usual };
}

async function isFree(port: number): Promise<boolean> {
  try {
    return (await bind(port)) === port;
  } catch {
    return false;
  }
}

function anyFree(): Promise<number> {
  return bind(0);
}

/** Binds the port (0: any) for a moment and returns its number. */
async function bind(port: number): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
