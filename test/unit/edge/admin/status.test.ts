import { expect, it } from 'vitest';
import { statusAsJson } from '../../../../src/edge/admin/status.ts';
import { MOMENT, PROVIDER, STATUS } from './gateway-status.ts';

it('the status has moments under plain names, in ISO 8601', () => {
  const lastFailure = { atMs: MOMENT, errors: [], mended: true };
  const reload = { outcome: 'refused', atMs: MOMENT, error: 'wrong', moreErrors: 0 } as const;
  const restriction = {
    address: '192.0.2.1',
    kind: 'address',
    reason: 'invalid_requests',
    sinceMs: Date.UTC(2026, 0, 31, 11),
    untilMs: MOMENT,
  } as const;
  const json = JSON.parse(
    statusAsJson({
      ...STATUS,
      configuration: { ...STATUS.configuration, lastFailure, reloads: [reload] },
      callers: {
        refusedNetworks: [],
        refusedMost: [],
        nearLimit: [],
        mostInFlight: [],
        restrictions: [restriction],
        unlistedRestrictions: 0,
      },
    }),
  );
  expect(json).toMatchObject({
    at: '2026-01-31T12:01:05.000Z',
    startedAt: '2026-01-31T12:00:00.000Z',
    configuration: {
      since: '2026-01-31T12:00:00.000Z',
      lastFailure: { at: '2026-01-31T12:00:00.000Z' },
      reloads: [{ outcome: 'refused', at: '2026-01-31T12:00:00.000Z' }],
    },
    provider: {
      keysAsOf: '2026-01-31T12:00:00.000Z',
      keys: 2,
      revocations: { notBefore: '2026-01-31T12:00:00.000Z', pushedNotBefore: null, sessions: 4 },
    },
    callers: { restrictions: [{ until: '2026-01-31T12:00:00.000Z' }] },
    upstreams: [{ name: 'api' }],
  });
  expect(JSON.stringify(json)).not.toContain('Ms"');
});

it('the status has null for a moment that has not come', () => {
  const provider = { ...PROVIDER, keysAsOfMs: null };
  expect(JSON.parse(statusAsJson({ ...STATUS, provider })).provider.keysAsOf).toBeNull();
});
