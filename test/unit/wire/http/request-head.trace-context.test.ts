import { expect, test } from 'vitest';
import { readTraceParent, traceContextFields } from '../../../../src/wire/http/index.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test('a traceparent is read', () => {
  expect(readTraceParent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true });
  expect(readTraceParent(`00-${TRACE}-${SPAN}-02`)).toMatchObject({ sampled: false });
  expect(readTraceParent(`cc-${TRACE}-${SPAN}-03-later`)).toMatchObject({ traceId: TRACE, sampled: true });
});

test.each([
  '',
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01 `,
])('"%s" is no traceparent', text => {
  expect(readTraceParent(text)).toBeNull();
});

test('a trace is passed on with its state', () => {
  const parent = { traceId: TRACE, spanId: SPAN, sampled: true };
  expect(traceContextFields(parent, 'a=1')).toEqual([
    ...['traceparent', `00-${TRACE}-${SPAN}-01`],
    ...['tracestate', 'a=1'],
  ]);
  expect(traceContextFields({ ...parent, sampled: false }, null)).toEqual([
    ...['traceparent', `00-${TRACE}-${SPAN}-00`],
  ]);
});
