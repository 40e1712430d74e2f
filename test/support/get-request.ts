import { NO_NAMES } from '../../src/core/index.ts';
import type { OutgoingRequest } from '../../src/wire/http1/index.ts';

export const GET: OutgoingRequest = {
  ...{ method: 'GET', target: '/', fields: ['Host', 'a.test'], bodyLength: 0, body: null },
  ...{
    neverIndexed: NO_NAMES,
    takesTrailers: false,
    statesZero: false,
    upgrade: 'none' as const,
    firstByteTimeoutMs: 10_000,
    idleTimeoutMs: 10_000,
  },
};
