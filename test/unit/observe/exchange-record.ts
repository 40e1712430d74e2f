import type { ExchangeRecord } from '../../../src/core/index.ts';

/** The record of an ordinary request of a user, forwarded and admitted. */
export function exchangeRecord(more: Partial<ExchangeRecord> = {}): ExchangeRecord {
  return {
    requestId: 'Ab3dEf6hIj-1',
    arrivedAtMs: 1_790_000_000_123,
    sequence: 1,
    protocol: 'http1',
    method: 'GET',
    path: '/things/42',
    route: '/things/{id}',
    upstream: 'api',
    clientAddress: '192.0.2.1',
    status: 200,
    grpcStatus: null,
    outcome: 'forwarded',
    bytesReceived: 0,
    bytesSent: 1_234,
    durationMs: 12.345_678,
    upstreamMs: 11.5,
    caller: { class: 'user', principal: 'web:alice' },
    tokenRefused: null,
    decision: {
      bucket: 'things',
      main: '42',
      outcome: 'admitted',
      draws: 'all',
      decidedAtMs: 1_790_000_000_123,
    },
    heldMs: 0,
    sentAfterMs: 0.5,
    trace: null,
    shadowRefusals: [],
    userAgent: null,
    lasted: false,
    retried: false,
    error: null,
    ...more,
  };
}
