import { expect, test } from 'vitest';
import { errors } from '../../../../src/gateway/responses/index.ts';

test.each([
  ['EMFILE', 'gateway'],
  ['ENFILE', 'gateway'],
  ['ECONNREFUSED', 'upstream'],
])('a connection that fails by %s is a fault of the %s', (code, side) => {
  const cause = Object.assign(new Error(`connect ${code}`), { code });
  expect(errors.upstreamFailed(cause)).toMatchObject({ status: 502, side, cause });
});
