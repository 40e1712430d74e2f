import type { GatewayStatus } from '../../../../src/edge/admin/status.ts';

export const MOMENT = Date.parse('2026-01-31T12:00:00Z');

export const PROVIDER: NonNullable<GatewayStatus['provider']> = {
  name: null,
  issuer: 'https://id.example',
  endpointsKnown: true,
  keys: 2,
  keysAsOfMs: MOMENT,
  revocations: {
    notBeforeMs: MOMENT,
    pushedNotBeforeMs: null,
    subjects: 3,
    sessions: 4,
    keptForSeconds: 86_430,
    keptBy: 'default',
    outliveRestart: false,
  },
};

/** An upstream about whose endpoints nothing is known. */
const NO_ENDPOINTS = { endpoints: [], endpointCount: 0, allEndpointsOut: false, lookupFault: null };

/** A status in which all is well. */
export const STATUS: GatewayStatus = {
  version: '1.2.3',
  node: '26.30.0',
  host: 'gateway-1',
  atMs: MOMENT + 65_000,
  startedAtMs: MOMENT,
  uptimeSeconds: 65,
  notReady: null,
  workers: { count: 1, why: null, each: [] },
  memory: {
    usableBytes: 512 * 2 ** 20,
    totalBytes: 400 * 2 ** 20,
    needs: [
      { key: 'caps.connections', bytes: 300 * 2 ** 20 },
      { key: 'workers', bytes: 100 * 2 ** 20 },
    ],
  },
  descriptors: {
    ...{ limit: 65_536, needed: 30_212, kept: 108 },
    ...{ connections: 20_000, requests: 10_000, refusedConnections: 6_542 },
  },
  configuration: {
    generation: 3,
    hash: '0123456789abcdef',
    files: ['gateway.yaml', 'limits.yaml'],
    sinceMs: MOMENT,
    reload: 'watch',
    lastChanges: [],
    pendingRestart: [],
    waiting: null,
    lastFailure: null,
    reloads: [],
  },
  traffic: { connections: 4, requestsInFlight: 2 },
  certificates: [],
  unlistedProxies: [],
  defaultRefusals: [],
  provider: PROVIDER,
  providers: [PROVIDER],
  log: { linesDropped: 0, trouble: null },
  store: { kind: 'memory', state: 'ok', keys: 12, evictions: 0, restrictions: 1, behind: false },
  buckets: [],
  concurrent: [],
  callers: {
    refusedNetworks: [],
    refusedMost: [],
    nearLimit: [],
    mostInFlight: [],
    restrictions: [],
    unlistedRestrictions: 0,
  },
  upstreams: [
    { name: 'api', address: 'api:3000', connections: 2, requestsInFlight: 1, errors: null, ...NO_ENDPOINTS },
  ],
  state: [],
  errors: [],
};
