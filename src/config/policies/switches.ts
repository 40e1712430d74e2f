import { compareNeutral, compareStrictness } from '../difference.ts';
import { choice, yesOrNo } from '../values/index.ts';
import { routePolicy } from './policy.ts';

// Policies with a single choice each.

export const semicolons = routePolicy({
  keys: {
    semicolons: choice(['refuse', 'pass']).describe(
      'Whether a path with ";" or "%3B" gets 400, since services disagree about its meaning, or is passed on.',
    ),
  },
  pathOnly: ['semicolons'],
  compile: ({ semicolons }) => ({ semicolons }),
  describe: ({ semicolons }) => ({ semicolons: semicolons === 'pass' ? 'passed on' : 'refused with 400' }),
  compare: (now, before) =>
    compareStrictness(now.semicolons === 'refuse', before.semicolons === 'refuse', 'refuses semicolons'),
});

/** `webhook`: whether the parameters of the path identify a webhook. `weir explain` describes it with the restrictions. */
export const webhook = routePolicy({
  keys: {
    webhook: yesOrNo(false).describe(
      'Whether its path parameters identify a webhook. An address that keeps calling a webhook that returns 404 is restricted on this webhook: see webhook_not_found in limits.yaml.',
    ),
  },
  pathOnly: ['webhook'],
  forwardOnly: ['webhook'],
  own: ['webhook'],
  compile: ({ webhook }) => ({ webhook }),
  compare: (now, before) =>
    compareStrictness(now.webhook, before.webhook, 'its 404s are counted as those of a webhook'),
});

/** `global_limit`: whether it applies. `weir explain` describes it with the limits. */
export const globalLimit = routePolicy({
  keys: {
    global_limit: choice(['apply', 'exempt']).describe(
      'Whether its requests count against the global limit of their caller, see global in limits.yaml.',
    ),
  },
  compile: ({ global_limit }) => ({ globalLimitExempt: global_limit === 'exempt' }),
  compare: (now, before) =>
    compareStrictness(!now.globalLimitExempt, !before.globalLimitExempt, 'the global limit applies'),
});

export const expect = routePolicy({
  keys: {
    expect: choice(['answer', 'pass']).describe(
      'Who tells a client with "Expect: 100-continue" to send its body. answer: the gateway, once it has a connection to the upstream. pass: the upstream, which may refuse by the head alone; if it says nothing for 1s, the gateway.',
    ),
  },
  pathOnly: ['expect'],
  forwardOnly: ['expect'],
  compile: ({ expect }) => ({ passesExpect: expect === 'pass' }),
  compileCall: () => ({ passesExpect: false }),
  describe: ({ passesExpect }) => ({
    Expect: passesExpect ? 'passed on: the service says 100, or the gateway after 1s' : null,
  }),
  compare: (now, before) =>
    compareNeutral('expect', now.passesExpect ? 'pass' : 'answer', before.passesExpect ? 'pass' : 'answer'),
});

export const upstream429 = routePolicy({
  keys: {
    upstream_429: choice(['rewrite', 'pass']).describe(
      "Whether an upstream's own 429 in a form that clients of this gateway do not understand is rewritten into one they do, or passed on unchanged.",
    ),
  },
  pathOnly: ['upstream_429'],
  forwardOnly: ['upstream_429'],
  ruledOut: { upstream_429: ({ route }) => route.rate_limit_headers === 'service' },
  compile: ({ upstream_429 }) => ({ upstream429: upstream_429 }),
  compileCall: () => ({ upstream429: 'pass' as const }),
  describe: ({ upstream429 }) => ({ 'upstream 429': IN_WORDS[upstream429] }),
  compare: (now, before) => compareNeutral('upstream_429', now.upstream429, before.upstream429),
});

const IN_WORDS = {
  rewrite: 'rewritten unless clients of the gateway understand it',
  pass: 'passed on unchanged',
} as const;
