import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hexSource } from '../../../../src/core/index.ts';
import { beginTrace } from '../../../../src/gateway/exchange/trace.ts';
import { ForwardingRules, RequestHead } from '../../../../src/wire/http/index.ts';

const rules = new ForwardingRules({ traces: true });
const ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${ID}-b7ad6b7169203331-01`;
const draw = hexSource(randomBytes);

function traceOf(fields: string[], trusted: boolean, share = 0) {
  return beginTrace(new RequestHead(fields, rules, trusted, []), share, draw);
}

test('a trusted proxy names the trace and decides whether it is recorded', () => {
  const trace = traceOf(['Traceparent', PARENT, 'tracestate', 'a=1', 'tracestate', 'b=2'], true);
  expect(trace).toMatchObject({ traceId: ID, parentId: 'b7ad6b7169203331', sampled: true, state: 'a=1,b=2' });
});

test('anyone else does not', () => {
  const trace = traceOf(['traceparent', PARENT, 'tracestate', 'a=1'], false);
  expect(trace.traceId).not.toBe(ID);
  expect(trace).toMatchObject({ parentId: null, sampled: false, state: null });
});

test('a traceparent that came twice, or is broken, begins another trace', () => {
  expect(traceOf(['traceparent', PARENT, 'traceparent', PARENT], true).parentId).toBeNull();
  expect(traceOf(['traceparent', 'x', 'tracestate', 'a=1'], true)).toMatchObject({
    parentId: null,
    state: null,
  });
});

test('the share of new traces is recorded', () => {
  const recorded = (share: number) =>
    Array.from({ length: 20_000 }, () => traceOf([], false, share)).filter(({ sampled }) => sampled).length;
  expect(recorded(0)).toBe(0);
  expect(recorded(1)).toBe(20_000);
  expect(recorded(0.1) / 2_000).toBeCloseTo(1, 0);
});

test('all ids of a trace differ', () => {
  const { traceId, spanId, upstreamSpanId } = traceOf([], false);
  expect(traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(spanId).toMatch(/^[0-9a-f]{16}$/);
  expect(upstreamSpanId).toMatch(/^[0-9a-f]{16}$/);
  expect(spanId).not.toBe(upstreamSpanId);
});
