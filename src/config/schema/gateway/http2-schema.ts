import { z } from 'zod';
import { count, size } from '../../values/index.ts';

const KIB = 1024;
const MIB = KIB * KIB;

/** `http2` of gateway.yaml. */
export const http2Schema = z
  .strictObject({
    max_streams: count(10_000)
      .prefault(128)
      .describe('Requests that one connection may have in flight; a further one closes it.'),
    stream_window: size({ min: KIB, max: 16 * MIB })
      .prefault('64KiB')
      .describe('What a client may send of one request body before the gateway takes it.'),
    connection_window: size({ min: 64 * KIB, max: 64 * MIB })
      .prefault('1MiB')
      .describe('What a client may send of all bodies of a connection until the gateway acknowledges it.'),
    session_memory: size({ min: MIB, max: 1024 * MIB })
      .prefault('32MiB')
      .describe(
        'What one connection may hold of heads, and of responses that wait for their client; beyond it its further requests are reset.',
      ),
  })
  .prefault({})
  .describe('What one connection over HTTP/2 may take. A change holds for further connections.');
