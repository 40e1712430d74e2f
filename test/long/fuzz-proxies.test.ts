import { expect, test } from 'vitest';
import { fuzzHttp2ThroughProxy } from '../support/fuzz/http2-proxy-fuzz.ts';
import { fuzzThroughProxy } from '../support/fuzz/proxy-fuzz.ts';
import { runs, seedOfRun } from '../support/runs.ts';

const CASES = runs(1_500);
const FRAME_CASES = runs(200);

test.each(['nginx', 'haproxy'] as const)(
  `of ${CASES} conversations, a service behind %s gets no request of which ours reads another body`,
  async name => {
    const { findings, accepted, lenient } = await fuzzThroughProxy(name, { seed: seedOfRun(), cases: CASES });
    expect(findings).toEqual([]);
    // Else the cases would prove little.
    expect(accepted).toBeGreaterThan(0.2 * CASES);
    expect(lenient).toBeGreaterThan(0.02 * CASES);
  },
);

test.each(['nginx', 'haproxy'] as const)(
  `of ${FRAME_CASES} connections of frames, a service behind %s gets no request that ours reads otherwise`,
  async name => {
    const run = { seed: seedOfRun(), cases: FRAME_CASES };
    const { findings, accepted, stricter, lenient } = await fuzzHttp2ThroughProxy(name, run);
    expect(findings).toEqual([]);
    // A connection that the proxy refuses compares nothing.
    expect(accepted).toBeGreaterThan(1.5 * stricter);
    expect(lenient).toBeGreaterThan(0.02 * FRAME_CASES);
  },
);
