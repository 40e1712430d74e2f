import { expect, test } from 'vitest';
import { fuzzThroughProxy } from '../support/fuzz/proxy-fuzz.ts';
import { fuzzConversations, fuzzSeed } from '../support/fuzz/settings.ts';

const CASES = Math.ceil(fuzzConversations / 8);

test.each(['nginx', 'haproxy'] as const)(
  `of ${CASES} conversations, a service behind %s gets no request of which ours reads another body (WEIR_FUZZ_SEED=${fuzzSeed})`,
  async name => {
    const { findings, accepted, lenient } = await fuzzThroughProxy(name, { seed: fuzzSeed, cases: CASES });
    expect(findings).toEqual([]);
    // Else the cases would prove little.
    expect(accepted).toBeGreaterThan(0.2 * CASES);
    expect(lenient).toBeGreaterThan(0.02 * CASES);
  },
);
