import type { OutReason, UpstreamListener } from '../../core/index.ts';
import type { Logger } from './logging.ts';

/** Maximum addresses named in a line: for hundreds, their number is more useful. */
const MAX_NAMED = 10;

const OUT: Readonly<Record<OutReason, string>> = {
  connect_failures: 'an endpoint gets no requests for a while: it cannot be connected to',
  bad_answers: 'an endpoint gets no requests for a while: it answers badly, or not at all',
  check: 'an endpoint gets no requests: its health checks fail',
};

/** Logs each change of an upstream's endpoints, and nothing per request. */
export function upstreamLog(log: Logger) {
  return {
    endpointChanged({ upstream, endpoint, reason, cause }) {
      const line = { type: 'upstream', upstream, endpoint };
      if (reason === null) log.info(line, 'an endpoint gets requests again');
      else log.warn({ ...line, reason, ...(cause === null ? {} : { cause }) }, OUT[reason]);
    },
    addressesChanged({ upstream, added, removed, count }) {
      const line = { type: 'upstream', upstream, added: someOf(added), removed: someOf(removed), count };
      log.info(line, 'the addresses of an upstream have changed');
    },
    lookupFailed(upstream, name, cause) {
      const line = { type: 'upstream', upstream, name, cause };
      log.warn(line, 'the name of an upstream cannot be looked up: its last addresses stay in use');
    },
    lookupWorks: (upstream, name) =>
      log.info({ type: 'upstream', upstream, name }, 'the name of an upstream can be looked up again'),
  } satisfies Partial<UpstreamListener>;
}

function someOf(addresses: readonly string[]): readonly string[] {
  return addresses.slice(0, MAX_NAMED);
}
