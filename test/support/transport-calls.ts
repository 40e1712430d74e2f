import type { Transport, TransportCall } from '../../src/upstream/index.ts';
import type { OutgoingRequest } from '../../src/wire/http1/index.ts';
import { CollectingSink } from './collecting-sink.ts';
import { GET } from './get-request.ts';

/** Sends a GET, or what differs from it. */
export function send(
  transport: Transport,
  request: Partial<OutgoingRequest> = {},
): { readonly sink: CollectingSink; readonly call: TransportCall } {
  const sink = new CollectingSink();
  return { sink, call: transport.send({ ...GET, ...request }, sink, '192.0.2.1') };
}

/** The same, when its response is over. */
export async function ask(
  transport: Transport,
  request: Partial<OutgoingRequest> = {},
): Promise<CollectingSink> {
  const { sink } = send(transport, request);
  await sink.over;
  return sink;
}
