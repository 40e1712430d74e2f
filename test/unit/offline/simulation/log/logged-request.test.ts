import { expect, test } from 'vitest';
import {
  CONSUMED_LIMITS,
  type ExchangeRecord,
  type RestrictedBy,
  type RestrictionRecord,
} from '../../../../../src/core/index.ts';
import { AccessLine, Pseudonyms } from '../../../../../src/observe/log/access-log.ts';
import { readLogLine } from '../../../../../src/offline/simulation/log/logged-request.ts';
import { logLine } from '../../../../support/log-line.ts';
import { Random } from '../../../../support/random.ts';
import { runs, seedOfRun } from '../../../../support/runs.ts';
import { FrozenClock } from '../../../limits/frozen-clock.ts';
import { exchangeRecord } from '../../../observe/exchange-record.ts';

const decision = {
  bucket: 'b',
  main: '7',
  outcome: 'admitted',
  period: '',
  consumes: 'all',
  decidedAtMs: 0,
} as const;
const user = { class: 'user', principal: '["user","web","alice"]' } as const;

function restrictedBy(by: RestrictedBy): RestrictionRecord {
  return { by, consumes: 'global', isCallerUnknown: by === 'address' };
}

function recordsOf(clock: FrozenClock): ExchangeRecord[] {
  const decided = { ...decision, decidedAtMs: Math.floor(clock.epochMs()) };
  const changes: Partial<ExchangeRecord>[] = [
    {},
    { caller: user },
    {
      decision: { ...decided, outcome: 'resource', period: '', consumes: 'bucket', bucket: null, main: '' },
      lasted: true,
    },
    { protocol: 'grpc', grpcStatus: 8, status: 403, upstreamMs: 3 },
    { protocol: 'grpc_web', grpcStatus: 8, status: 403, upstreamMs: 3 },
    { route: null, upstream: null, upstreamMs: null, heldMs: 1.5, retried: true, userAgent: 'curl/8' },
    { tokenRefused: { reason: 'expired', claim: null, principal: null } },
    { status: 401, tokenRefused: { reason: 'claim', claim: 'sub', principal: 'user:web ada' } },
    { decision: null, status: 429 },
    { status: 403, offenceAtMs: decided.decidedAtMs, isSpared: true, webhook: 'hash' },
    { status: 429, scopeOf429: 'user', offenceAtMs: decided.decidedAtMs },
    { isPreflight: true, method: 'OPTIONS' },
    { status: 404, upstreamMs: 3, returnedAtMs: decided.decidedAtMs },
    { decision: null, status: 403, offenceAtMs: decided.decidedAtMs },
    { decision: null, status: 429, restriction: restrictedBy('address'), path: null },
    { decision: null, status: 429, restriction: restrictedBy('blocked_caller') },
    {
      decision: { ...decided, consumes: 'global', bucket: null, main: '' },
      path: null,
      route: null,
      status: 404,
    },
    { clientAddress: '2001:db8::7', durationMs: 0.5, bytesSent: 12_345_678_901 },
  ];
  const arrivedAtMs = decided.decidedAtMs;
  return changes.map(change => exchangeRecord({ path: '/v1/x', arrivedAtMs, decision: decided, ...change }));
}

/** Lines as a gateway writes them. */
function gatewayLines(): string[] {
  const clock = new FrozenClock();
  const paths = { rewrite: (path: string) => `/v1/{${path.length}}` };
  const line = new AccessLine(clock, new Pseudonyms(Buffer.alloc(32, 1)), paths, 'instance');
  const records = recordsOf(clock);
  return [...records.map(each => line.of(each)), ...records.map(each => line.ofAdmission(each))].map(text =>
    text.trimEnd(),
  );
}

test('every line of a gateway about a decision, a refusal or an offence is read', () => {
  const read = gatewayLines().map(readLogLine);
  expect(read.filter(line => typeof line === 'object')).toHaveLength(33);
  expect(read).not.toContain('broken');
  expect(
    read.filter(line => typeof line === 'object' && 'method' in line && line.method === 'GRPC'),
  ).toHaveLength(4);
});

test('the order of fields in a line does not matter, nor do fields that are not known', () => {
  for (const line of gatewayLines()) {
    // A line begins with the quotation mark of a name; a decision is looked for behind a comma.
    const turned = Object.fromEntries([['later', 1], ...Object.entries(JSON.parse(line)).reverse()]);
    expect(readLogLine(JSON.stringify(turned))).toEqual(readLogLine(line));
  }
});

const VALUES = [
  ...[
    '"text"',
    '""',
    '"a\\"b"',
    '"\\u0041"',
    '"\u00e9"',
    '"bad\u0001"',
    '"open',
    'null',
    'true',
    'false',
    'nul',
  ],
  ...[
    '0',
    '7',
    '-7',
    '007',
    '1.5',
    '1.',
    '.5',
    '1e3',
    '12345678901234567',
    '9007199254740993',
    '1e400',
    '[]',
    '{}',
  ],
  ...['"admitted"', '"global"', '"grpc"', '"access"', '"admission"', '"all"', '"none"', '"user"', '403', ''],
  ...['"2026-01-01T00:00:00.000Z"', '"2026-02-30T00:00:00.000Z"', '"2026-01-01T00:00:00Z"', '"2026-01-01"'],
];
const BYTES = [
  '"',
  '\\',
  ',',
  ':',
  '{',
  '}',
  ' ',
  '0',
  '-',
  '\0',
  '\u00ff',
  ',"decision":"',
  '"lasted":true,',
];

/** One change that a hostile or unlucky writer may make. */
function spoil(line: string, random: Random): string {
  const at = random.below(line.length);
  const members = line.slice(1, -1).split(/,(?=")/);
  const one = random.below(members.length);
  const other = random.below(members.length);
  const [key] = (members[one] ?? '').split(':');
  switch (random.below(6)) {
    case 0:
      return line.slice(0, at) + random.pick(BYTES) + line.slice(at);
    case 1:
      return line.slice(0, at) + line.slice(at + 1 + random.below(4));
    case 2:
      members[one] = `${key}:${random.pick(VALUES)}`;
      break;
    case 3:
      members.splice(other, 0, members[one] ?? '');
      break;
    case 4:
      members.splice(one, 1);
      break;
    default:
      return line.slice(0, at);
  }
  return `{${members.join(',')}}`;
}

const ROUNDS = runs(60_000);

test('a line is read as a request, or not at all, whatever was done to it', () => {
  const seed = seedOfRun();
  const random = new Random(seed);
  const lines = [...gatewayLines(), logLine(0).trimEnd(), ...[1_003, 1_500].map(ms => logLine(ms).trimEnd())];
  const seen = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    let line = random.pick(lines);
    for (let times = random.below(4); times > 0; times--) line = spoil(line, random);
    const read = readLogLine(line);
    const kind = typeof read === 'string' ? read : 'request';
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    if (typeof read === 'string') continue;
    const { decidedAtMs, writtenAtMs, sequence } = read;
    expect([decidedAtMs, sequence].every(Number.isSafeInteger), `seed ${seed}: ${line}`).toBe(true);
    expect(Math.abs(writtenAtMs - decidedAtMs), `seed ${seed}: ${line}`).toBeLessThanOrEqual(86_400_000);
    const texts = [read.method, read.path, read.client, read.instance, read.keyId, read.caller];
    expect(
      texts.every(text => typeof text === 'string'),
      `seed ${seed}: ${line}`,
    ).toBe(true);
    expect(read.callerClass).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/);
    expect(CONSUMED_LIMITS).toContain(read.consumes);
  }
  for (const kind of ['request', 'early', 'other', 'broken']) expect(seen.get(kind)).toBeGreaterThan(50);
});
