import { once } from 'node:events';
import { createServer } from 'node:net';

export interface ChosenPort {
  readonly port: number;
  /** The usual port if it is taken and this one replaces it; else `null`. */
  readonly insteadOf: number | null;
}

/** The parts of the demo and their usual ports. */
export const USUAL_PORTS = { gateway: 8080, admin: 9090, provider: 8180, backend: 3000 } as const;

export type DemoPart = keyof typeof USUAL_PORTS;
export type AskedPorts = Readonly<Record<DemoPart, number | null>>;
export type ChosenPorts = Readonly<Record<DemoPart, ChosenPort>>;

/**
 * Chooses a port for each part: the requested one, else the usual one, else a free one. All are different.
 *
 * Rejects with an `Error` for the user if a requested port is taken or requested twice.
 */
export async function choosePorts(asked: AskedPorts): Promise<ChosenPorts> {
  const given = new Set<number>();
  for (const port of Object.values(asked)) {
    if (port === null) continue;
    if (given.has(port)) throw new Error(`port ${port} is given twice: each part needs its own`);
    if (!(await isFree(port))) throw new Error(`port ${port} is taken: choose another one, or leave it out`);
    given.add(port);
  }
  const choose = async (part: DemoPart): Promise<ChosenPort> => {
    const port = asked[part];
    if (port !== null) return { port, insteadOf: null };
    const chosen = await usualOrFree(USUAL_PORTS[part], given);
    given.add(chosen.port);
    return chosen;
  };
  return {
    gateway: await choose('gateway'),
    admin: await choose('admin'),
    provider: await choose('provider'),
    backend: await choose('backend'),
  };
}

async function usualOrFree(usual: number, given: ReadonlySet<number>): Promise<ChosenPort> {
  if (!given.has(usual) && (await isFree(usual))) return { port: usual, insteadOf: null };
  for (;;) {
    const port = await bind(0);
    if (!given.has(port)) return { port, insteadOf: usual };
  }
}

async function isFree(port: number): Promise<boolean> {
  try {
    return (await bind(port)) === port;
  } catch {
    return false;
  }
}

export function freePort(): Promise<number> {
  return bind(0);
}

/** Binds the port (0: any) briefly and returns its number. */
async function bind(port: number): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
