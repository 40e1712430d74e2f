import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { block, FLAG, frame, headers, TYPE } from '../support/frame-upstream.ts';

const LONG = { ':status': '200', 'x-one': '1'.repeat(3_000) };

// Each made Node end the process where garbage was collected just then: see src/core/hold-session.ts. Here it is very often.
test.each([
  ['a malformed header section', [headers(1, { ...LONG, connection: 'close' }, FLAG.endStream)]],
  [
    'a header section with two lengths',
    [headers(1, [...Object.entries(LONG), ['content-length', '2'], ['content-length', '2']])],
  ],
  [
    'an endless header section',
    [
      frame(TYPE.headers, 0, 1, block(LONG)),
      ...Array.from({ length: 30 }, () => frame(TYPE.continuation, 0, 1, block({ 'x-two': '2' }))),
    ],
  ],
])('a connection that ends in %s does not end the process', async (_, frames) => {
  const run = promisify(execFile);
  for (const interval of [307, 499, 701, 997, 1_499]) {
    const script = ['test/support/ask-broken-upstream.ts', Buffer.concat(frames).toString('hex')];
    const { stderr } = await run(process.execPath, [`--gc-interval=${interval}`, ...script]);
    expect(stderr).toBe('');
  }
});
