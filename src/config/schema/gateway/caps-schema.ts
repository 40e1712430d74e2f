import { z } from 'zod';

import { count } from '../plain-values.ts';
import { size } from '../scalars.ts';

const KIB = 1024;

/** `caps` of gateway.yaml. */
export const capsSchema = z
  .strictObject({
    connections: count(1_000_000).prefault(20_000).describe('Client connections at a time.'),
    connections_per_address: count(1_000_000)
      .prefault(1000)
      .describe('Client connections of one address at a time.'),
    tls_handshakes: count(100_000)
      .prefault(512)
      .describe('TLS handshakes under way at a time; beyond it the oldest one is broken off.'),
    requests: count(1_000_000).prefault(10_000).describe('Requests in flight at a time.'),
    requests_per_address: count(1_000_000)
      .prefault(1000)
      .describe('Requests of one client address in flight at a time.'),
    head: size({ min: KIB, max: KIB * KIB })
      .prefault('16KiB')
      .describe('Largest header section of a request; beyond it 431.'),
    fields: count(1000).prefault(200).describe('Most header fields of a request; beyond it 431.'),
    limit_keys: count(10_000_000)
      .prefault(1_000_000)
      .describe(
        'Counters of limits held in memory, at 80 to 90 bytes each; beyond it the least used give way, never an exhausted one. A change waits for a restart.',
      ),
  })
  .prefault({})
  .describe(
    'What one gateway takes on at most. Past a number of connections or requests the response is 503 with Retry-After.',
  );
