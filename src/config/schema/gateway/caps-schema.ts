import { z } from 'zod';
import {
  BY_MEMORY,
  byMemory,
  count,
  duration,
  durationOrOff,
  means,
  rateOrOff,
  size,
} from '../../values/index.ts';

/** Maximum threads that serve clients. */
export const MAX_WORKERS = 256;

/** `workers` of gateway.yaml. */
export const workersSchema = z
  .union([z.literal('auto'), count(MAX_WORKERS)], {
    error: `expected auto, or a whole number from 1 to ${MAX_WORKERS}`,
  })
  .prefault(1)
  .describe(
    'How many threads serve clients, each on a processor of its own, under the same limits. auto: as many as the processors and the memory that this process may use. Changes take effect after a restart.',
  );

/** `caps` of gateway.yaml. */
export const capsSchema = z
  .strictObject({
    connections: byMemory(
      count(1_000_000)
        .prefault(20_000)
        .describe(`Maximum number of open client connections. ${BY_MEMORY} 20000.`),
    ),
    connections_per_address: byMemory(
      count(1_000_000)
        .prefault(1000)
        .describe(
          `Maximum number of open client connections per address. The addresses of one owner have a few shares together: an IPv6 /48 four, a /44 eight, an IPv4 /24 64. ${BY_MEMORY} 1000.`,
        ),
    ),
    tls_handshakes: count(100_000)
      .prefault(512)
      .describe('Maximum number of TLS handshakes in progress; beyond it the oldest one is aborted.'),
    requests: byMemory(
      count(1_000_000).prefault(10_000).describe(`Maximum number of requests in flight. ${BY_MEMORY} 10000.`),
    ),
    requests_per_address: byMemory(
      count(1_000_000)
        .prefault(1000)
        .describe(
          `Maximum number of requests in flight per client address. The addresses of one owner share as those of connections do. ${BY_MEMORY} 1000.`,
        ),
    ),
    event_loop_delay: durationOrOff({ min: '100ms', max: '10s' })
      .prefault('250ms')
      .describe(
        'Maximum average delay of the event loop over one second. Beyond it some requests get 503, so that the others are served in time. off: no limit.',
      ),
    head: size({ min: '1KiB', max: '1MiB' })
      .prefault('16KiB')
      .describe('Largest header section of a request; beyond it 431.'),
    fields: count(1000)
      .prefault(200)
      .describe('Maximum number of header fields of a request; beyond it 431.'),
    limit_keys: byMemory(
      count(10_000_000)
        .prefault(1_000_000)
        .describe(
          `Maximum number of limit counters in memory, at 85 to 100 bytes each; beyond it the least used are evicted, never an exhausted one. Changes take effect after a restart. ${BY_MEMORY} 1000000.`,
        ),
    ),
    buffered: byMemory(
      size({ min: '1MiB', max: '1024GiB' })
        .prefault('1GiB')
        .describe(
          'Maximum of the bytes that wait for clients and of those that are kept of their bodies, in all workers together; beyond it connections are closed, beginning with those whose clients read the least. Default: a quarter of the memory that the process may use, from 64MiB to 1GiB.',
        ),
    ),
  })
  .prefault({})
  .describe(
    'Caps of one gateway. Beyond a cap on connections or requests the response is 503 with Retry-After.',
  );
means('maximum', capsSchema);

/** `timeouts` of gateway.yaml. Upstreams have their own timeouts. */
export const clientTimeoutsSchema = z
  .strictObject({
    tls_handshake: duration()
      .prefault('10s')
      .describe('Time from the start of a connection to the end of its TLS handshake; then it is closed.'),
    client_header: duration()
      .prefault('10s')
      .describe('Time for a client to send the header section of a request; then 408.'),
    client_body: duration().prefault('30s').describe('Time between two bytes of a request body; then 408.'),
    client_read: duration()
      .prefault('60s')
      .describe('Time for a client to read what was sent to it; then its connection is closed.'),
    keep_alive: duration()
      .prefault('75s')
      .describe(
        'An idle client connection is kept open this long. Clients of rate-limited services pause for up to a minute: use 65s or more.',
      ),
    max_connection_age: durationOrOff({ min: '1s' })
      .prefault('1h')
      .describe(
        'At about this age (10% more or less) a client is asked to reconnect, so that new gateways get their share: by Connection: close in the next response, or by GOAWAY over HTTP/2. Requests in flight finish. A change applies to new connections. off: never.',
      ),
  })
  .prefault({})
  .describe('How long to wait for clients. The duration of a whole request is not limited.');
means('maximum', clientTimeoutsSchema);

/** `min_read_rate` of gateway.yaml. */
export const minReadRateSchema = rateOrOff()
  .prefault('240B/s')
  .describe(
    'Minimum rate, averaged over timeouts.client_read, at which a client reads while anything waits for it; below it its connection ends. Routes may say otherwise. off: no minimum.',
  );

/** `shutdown` of gateway.yaml. */
export const shutdownSchema = z
  .strictObject({
    delay: duration({ min: '0ms' })
      .prefault('0s')
      .describe(
        'After SIGTERM the gateway reports that it is not ready, but keeps serving for this long before it stops listening. Meanwhile clients are asked to reconnect; WebSockets are closed one after the other until half of drain is over.',
      ),
    drain: duration({ min: '0ms' })
      .prefault('25s')
      .describe('How long requests in flight may take to finish after that; then they are cut off.'),
  })
  .prefault({})
  .describe('How the gateway stops.');

/** `http2` of gateway.yaml. */
export const http2Schema = z
  .strictObject({
    max_streams: means('maximum', count(10_000))
      .prefault(128)
      .describe('Requests that one connection may have in flight; a further one is refused.'),
    stream_window: size({ min: '1KiB', max: '16MiB' })
      .prefault('64KiB')
      .describe('How much of one request body a client may send before the gateway reads it.'),
    connection_window: size({ min: '64KiB', max: '64MiB' })
      .prefault('1MiB')
      .describe(
        'How much of all bodies on a connection a client may send before the gateway acknowledges it.',
      ),
    session_memory: size({ min: '1MiB', max: '1GiB' })
      .prefault('32MiB')
      .describe(
        'Maximum memory of one connection for responses that its client has not read; beyond it new requests on it are refused.',
      ),
  })
  .prefault({})
  .describe('Limits of one client connection over HTTP/2. A change applies to new connections.');
