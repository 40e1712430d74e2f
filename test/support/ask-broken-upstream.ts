// Asks an upstream of its own 60 times, each time on a connection of its own: `node ask-broken-upstream.ts RESPONSE`, where the
// response to stream 1 is frames in hexadecimal digits.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { thisMachine } from '../../src/core/index.ts';
import { SessionPool } from '../../src/upstream/session-pool.ts';
import { CollectingSink } from './collecting-sink.ts';
import { GET } from './get-request.ts';
import { upstreamAt } from './upstream-options.ts';

const SETTINGS = Buffer.from('000000040000000000', 'hex');
/** Type, flags and number in the head of the frame that is the request. */
const REQUEST = Buffer.from('010500000001', 'hex');
const RESPONSE = Buffer.from(process.argv[2] ?? '', 'hex');

const server = createServer(socket => {
  socket.on('error', () => {});
  socket.on('data', bytes => {
    if (bytes.includes(REQUEST)) socket.write(RESPONSE);
  });
  socket.write(SETTINGS);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

const { port } = server.address() as AddressInfo;
for (let i = 0; i < 60; i++) {
  const pool = new SessionPool(upstreamAt(port, { protocol: 'h2' }), { ...thisMachine, random: () => 0 });
  const sink = new CollectingSink();
  pool.send(GET, sink);
  await sink.over;
  if (sink.failure?.kind !== 'malformed') throw new Error(`not malformed: ${sink.events}`);
  await pool.close();
}
server.close();
