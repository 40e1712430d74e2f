import { compareNeutral } from '../difference.ts';
import { choice } from '../values/index.ts';
import { routePolicy } from './policy.ts';

export const rateLimitHeaders = routePolicy({
  keys: {
    rate_limit_headers: choice(['gateway', 'service']).describe(
      "Whose rate-limit fields clients get. gateway: its own; an upstream's are removed. service: the upstream's X-RateLimit-* and its 429s pass unchanged.",
    ),
  },
  pathOnly: ['rate_limit_headers'],
  forwardOnly: ['rate_limit_headers'],
  ruledOut: {
    rate_limit_headers: ({ route, defaults }) =>
      defaults.rate_limit_headers === 'service' && route.upstream_429 !== undefined,
  },
  compile: ({ rate_limit_headers }) => ({
    /** Whether clients see the service's own limits instead of the gateway's. */
    passesRateLimits: rate_limit_headers === 'service',
  }),
  compileCall: () => ({ passesRateLimits: false }),
  check(route) {
    const { rate_limit_headers: whose, upstream_429: how } = route.raw;
    const message = 'with "rate_limit_headers: service" every 429 of the upstream passes: leave this out';
    if (whose === 'service' && how !== undefined) route.addKey('upstream_429', message);
  },
  describe: ({ passesRateLimits }) => ({
    'rate-limit fields': passesRateLimits ? "the service's own, and its 429s, pass unchanged" : null,
  }),
  compare: (now, before) =>
    compareNeutral(
      'rate_limit_headers',
      now.passesRateLimits ? 'service' : 'gateway',
      before.passesRateLimits ? 'service' : 'gateway',
    ),
});
