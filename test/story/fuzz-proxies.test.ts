import { expect, test } from 'vitest';
import { fuzzHttp2ThroughProxy } from '../support/fuzz/http2-proxy-fuzz.ts';
import { fuzzThroughProxy } from '../support/fuzz/proxy-fuzz.ts';
import { fuzzConversations, fuzzFrames, fuzzSeed } from '../support/fuzz/settings.ts';

const CASES = Math.ceil(fuzzConversations / 8);
const FRAME_CASES = Math.ceil(fuzzFrames / 4);

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

test.each(['nginx', 'haproxy'] as const)(
  `of ${FRAME_CASES} connections of frames, a service behind %s gets no request that ours reads otherwise (WEIR_FUZZ_SEED=${fuzzSeed})`,
  async name => {
    const run = { seed: fuzzSeed, cases: FRAME_CASES };
    const { findings, accepted, stricter, lenient } = await fuzzHttp2ThroughProxy(name, run);
    expect(findings).toEqual([]);
    // A connection that the proxy refuses compares nothing.
    expect(accepted).toBeGreaterThan(1.5 * stricter);
    expect(lenient).toBeGreaterThan(0.02 * FRAME_CASES);
  },
);
