import { parseDurationMs } from '../../core/index.ts';
import { asMap } from '../file/index.ts';
import { duration, durationOrOff, section } from '../values/index.ts';
import { type ModelOf, setting } from './setting.ts';

/** Clients wait up to a minute for the next window, and load balancers keep idle connections about as long: 5 s more is safe. */
const USUAL_PAUSE_MS = 65_000;

export const timeouts = setting({
  keys: {
    timeouts: section('How long to wait for clients. The duration of a whole request is not limited.', {
      tls_handshake: duration({ otherwise: '10s' }).describe(
        'Time from the start of a connection to the end of its TLS handshake; then it is closed.',
      ),
      client_header: duration({ otherwise: '10s' }).describe(
        'Time for a client to send the header section of a request; then 408.',
      ),
      client_body: duration({ otherwise: '30s' }).describe(
        'Time between two bytes of a request body; then 408.',
      ),
      client_read: duration({ otherwise: '60s' }).describe(
        'Time for a client to read what was sent to it; then its connection is closed.',
      ),
      keep_alive: duration({ otherwise: '75s' }).describe(
        'An idle client connection is kept open this long. Clients of rate-limited services pause for up to a minute: use 65s or more.',
      ),
      max_connection_age: durationOrOff({ min: '1s', otherwise: '1h' }).describe(
        'At about this age (10% more or less) a client is asked to reconnect, so that new gateways get their share: by Connection: close in the next response, or by GOAWAY over HTTP/2. Requests in flight finish. A change applies to new connections. off: never.',
      ),
    }),
  },
  meaning: 'maximum',
  check({ timeouts }, file) {
    const { keep_alive } = asMap(timeouts);
    const ms = typeof keep_alive === 'string' ? parseDurationMs(keep_alive) : undefined;
    if (ms === undefined || ms === 0 || ms >= USUAL_PAUSE_MS) return;
    const message =
      'clients and load balancers that pause for a minute would find their connections closed: use 65s or more';
    file.warn(['timeouts', 'keep_alive'], message);
  },
  compile: ({ timeouts }) => ({
    timeouts: Object.freeze({
      tlsHandshakeMs: timeouts.tls_handshake,
      clientHeaderMs: timeouts.client_header,
      clientBodyIdleMs: timeouts.client_body,
      clientReadMs: timeouts.client_read,
      keepAliveMs: timeouts.keep_alive,
      maxConnectionAgeMs: timeouts.max_connection_age,
    }),
  }),
});

export type TimeoutsModel = ModelOf<typeof timeouts>['timeouts'];
