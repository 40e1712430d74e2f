import { z } from 'zod';

import { duration, durationOrOff } from '../scalars/index.ts';

/** `timeouts` of gateway.yaml. An upstream has timeouts of its own. */
export const clientTimeoutsSchema = z
  .strictObject({
    tls_handshake: duration()
      .prefault('10s')
      .describe('From the start of a connection to the end of its TLS handshake; then it is closed.'),
    client_header: duration()
      .prefault('10s')
      .describe('For a client to send the header section of a request; then 408.'),
    client_body: duration().prefault('30s').describe("Between two bytes of a request's body; then 408."),
    client_read: duration()
      .prefault('60s')
      .describe('For a client to read what was written to it; then its connection is closed.'),
    keep_alive: duration()
      .prefault('75s')
      .describe(
        'An idle client connection is kept open this long. Clients of rate-limited services pause for up to a minute: use 65s or more.',
      ),
    max_connection_age: durationOrOff({ min: '1s' })
      .prefault('1h')
      .describe(
        'At this age, give or take a tenth, a client is asked to connect anew, so that new gateways get their share: Connection: close with the next response, GOAWAY over HTTP/2. Nothing under way is cut off. Holds for further connections. off: never.',
      ),
  })
  .prefault({})
  .describe('How long to wait for clients. The duration of a whole request is not limited.');
