import type { Socket } from 'node:net';
import type { Client, ClientConnection } from './client-connection.ts';
import { Connection } from './http1/index.ts';
import type { ListenerState } from './listener-state.ts';

/** Opens what serves an accepted socket. */
export function openConnection(socket: Socket, client: Client, state: ListenerState): ClientConnection {
  return new Connection(socket, client, state);
}
