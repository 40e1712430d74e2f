import { Ajv } from 'ajv';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ACCESS_FIELDS,
  type AccessField,
  accessLogSchema,
  ERROR_SIDES,
  type ErrorSide,
  type ExchangeRecord,
  type InvalidReason,
  isAccessValue,
  PROTOCOLS,
  RpcCode,
} from '../../../../src/core/index.ts';
import { AccessLine, Pseudonyms } from '../../../../src/observe/log/access-log.ts';
import { makeLogger, type PathNaming } from '../../../../src/observe/log/index.ts';
import { played } from '../../../support/runs.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { exchangeRecord } from '../exchange-record.ts';

const pseudonyms = new Pseudonyms(Buffer.alloc(32, 1));
/** Takes every path for one value. */
const paths: PathNaming = { rewrite: (path, isCall, name) => `/{${name(path)}}${isCall ? '/call' : ''}` };

function lineOf(record: ExchangeRecord, clock = new FrozenClock()): string {
  return new AccessLine(clock, pseudonyms, paths, 'instance').of(record);
}

/** The same members by way of the logger. */
function loggedLineOf(record: ExchangeRecord, epochMs: number, instance: string): string {
  const { caller, decision, error } = record;
  const restriction = decision === null ? record.restriction : null;
  const draws = decision?.consumes ?? restriction?.consumes;
  const rounded = (ms: number): number => Math.round(ms * 1_000) / 1_000;
  let written = '';
  makeLogger('info', { write: line => (written += line) }).info({
    type: 'access',
    instance,
    keyId: pseudonyms.keyId,
    requestId: record.requestId,
    ...(record.trace === null ? {} : { traceId: record.trace.traceId }),
    arrivedAt: record.arrivedAtMs,
    sequence: record.sequence,
    protocol: record.protocol,
    method: record.method,
    route: record.route,
    ...(record.host === null ? {} : { host: record.host }),
    path:
      record.path === null
        ? undefined
        : paths.rewrite(record.path, record.protocol.startsWith('grpc'), value => pseudonyms.ofPart(value)),
    upstream: record.upstream,
    client: record.clientAddress,
    class: caller.class,
    userAgent: record.userAgent?.slice(0, 256),
    caller: caller.principal === null ? undefined : pseudonyms.of(caller.principal),
    groups: namesIn(record.claimed?.groups, group => pseudonyms.of(group)),
    numbers: namesIn(record.claimed?.numbers, number => number),
    bucket: decision?.bucket,
    decision: decision?.outcome,
    period: decision?.period || undefined,
    decidedAt: decision?.decidedAtMs ?? (restriction === null ? undefined : Math.floor(record.arrivedAtMs)),
    draws: draws === 'all' ? undefined : draws,
    main: decision === null || decision.main === '' ? undefined : pseudonyms.of(decision.main),
    restricted: restriction?.by,
    callerUnknown: restriction?.isCallerUnknown || undefined,
    preflight: record.isPreflight || undefined,
    spared: record.isSpared || undefined,
    webhook: record.webhook === '' ? undefined : pseudonyms.of(record.webhook),
    shadow: record.shadowRefusals.length === 0 ? undefined : record.shadowRefusals,
    lasted: record.lasted || undefined,
    status: record.status,
    outcome: record.outcome,
    grpcStatus: record.grpcStatus ?? undefined,
    bytesReceived: record.bytesReceived,
    bytesSent: record.bytesSent,
    durationMs: rounded(record.durationMs),
    upstreamMs: record.upstreamMs === null ? null : rounded(record.upstreamMs),
    endpoint: record.endpoint ?? undefined,
    scope: record.scopeOf429 ?? undefined,
    offenceAt: record.offenceAtMs || undefined,
    returnedAt: record.offenceAtMs === 0 ? record.returnedAtMs || undefined : undefined,
    price: record.price ?? undefined,
    waitedMs: record.heldMs > 0 ? rounded(record.heldMs) : undefined,
    retried: record.retried || undefined,
    tokenRefused: record.tokenRefused?.reason,
    claim: record.tokenRefused?.claim ?? undefined,
    refusedCaller:
      record.tokenRefused?.principal == null ? undefined : pseudonyms.of(record.tokenRefused.principal),
    error: error?.message,
    side: error?.side,
    cap: error?.cap ?? undefined,
    cause: error?.side === 'client' && error.cause !== null ? error.cause : undefined,
  });
  return written.replace(/"time":"[^"]*"/, `"time":"${new Date(epochMs).toISOString()}"`);
}

/** Text of any kind: printable, with controls, quotation marks and backslashes, with astral characters, without form. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\u0000', '\u007f', '\u2028', 'é', '\u{1f600}', 'a') }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code)) }),
);
/** The members of an object in a line; none if it is empty. */
function namesIn<Value, Told>(values: ReadonlyMap<string, Value> | undefined, told: (value: Value) => Told) {
  if (values === undefined || values.size === 0) return undefined;
  return Object.fromEntries([...values].map(([name, value]) => [name, told(value)]));
}

const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });
const ms = fc.oneof(
  fc.double({ min: 0, max: 1e7, noNaN: true }),
  fc.nat().map(n => n / 1_000),
);
const records = fc.record<ExchangeRecord>({
  requestId: text,
  arrivedAtMs: fc.maxSafeNat(),
  sequence: fc.maxSafeNat(),
  protocol: fc.constantFrom(...PROTOCOLS),
  method: text,
  host: orNull(text),
  plainPath: fc.constant(null),
  path: orNull(text),
  userAgent: orNull(text),
  lasted: fc.boolean(),
  route: orNull(text),
  upstream: orNull(text),
  clientAddress: text,
  status: fc.integer({ min: 0, max: 999 }),
  grpcStatus: orNull(fc.constantFrom(...Object.values(RpcCode))),
  outcome: fc.constantFrom('forwarded', 'answered', 'truncated', 'abandoned'),
  bytesReceived: fc.maxSafeNat(),
  bytesSent: fc.maxSafeNat(),
  durationMs: ms,
  upstreamMs: orNull(ms),
  endpoint: orNull(text),
  caller: fc.record({ class: fc.constantFrom('bot', 'user', 'address'), principal: orNull(text) }),
  claimed: orNull(
    fc.record({
      groups: fc.array(fc.tuple(text, text)).map(entries => new Map(entries)),
      numbers: fc.array(fc.tuple(text, fc.maxSafeNat())).map(entries => new Map(entries)),
    }),
  ),
  tokenRefused: orNull(
    fc.record({
      reason: fc.constantFrom('expired', 'claim', 'unknown_key'),
      claim: orNull(text),
      principal: orNull(text),
    }),
  ),
  decision: orNull(
    fc.record({
      bucket: orNull(text),
      main: text,
      outcome: fc.constantFrom('admitted', 'global', 'caller', 'resource'),
      period: fc.constantFrom('', '1s', 'day'),
      consumes: fc.constantFrom('all', 'global', 'bucket', 'none'),
      decidedAtMs: fc.maxSafeNat(),
    }),
  ),
  restriction: orNull(
    fc.record({
      by: fc.constantFrom('address', 'caller', 'webhook', 'blocked_address', 'blocked_caller'),
      consumes: fc.constantFrom('all', 'global', 'bucket', 'none'),
      isCallerUnknown: fc.boolean(),
    }),
  ),
  offenceAtMs: fc.oneof(fc.constant(0), fc.maxSafeNat()),
  returnedAtMs: fc.oneof(fc.constant(0), fc.maxSafeNat()),
  price: fc.option(fc.maxSafeNat()),
  scopeOf429: orNull(fc.constantFrom('user', 'shared', 'global')),
  isPreflight: fc.boolean(),
  webhook: fc.oneof(fc.constant(''), text),
  isSpared: fc.boolean(),
  heldMs: ms,
  sentAfterMs: orNull(ms),
  trace: orNull(
    fc.constant({ traceId: 'a1', parentId: null, spanId: 'b2', upstreamSpanId: 'c3', sampled: true }),
  ),
  shadowRefusals: fc.subarray(['global', 'caller', 'resource', 'concurrent']),
  retried: fc.boolean(),
  error: orNull(
    fc.record({
      message: text,
      side: fc.constantFrom(...ERROR_SIDES),
      cap: orNull(fc.constantFrom('requests', 'max_requests')),
      cause: orNull(text),
    }),
  ),
});

test('a line is, to the byte, what the logger writes of the same members', () => {
  const clock = new FrozenClock();
  fc.assert(
    fc.property(records, record => {
      const line = lineOf(record, clock);
      const logged = loggedLineOf(record, clock.epochMs(), JSON.parse(line).instance);
      expect(JSON.parse(line)).toEqual(JSON.parse(logged));
      // The logger leaves halves of astral characters as they are; written as bytes, they are lost.
      if (logged.isWellFormed()) expect(line).toBe(logged);
    }),
    played(2_000),
  );
});

test('lines have the fields that are declared, in their order, and each holds what is declared', () => {
  const clock = new FrozenClock();
  const names = Object.keys(ACCESS_FIELDS) as AccessField[];
  const seen = new Set<string>();
  const validate = new Ajv({ validateFormats: false, allowUnionTypes: true }).compile(accessLogSchema());
  fc.assert(
    fc.property(records, record => {
      const whole = JSON.parse(lineOf(record, clock));
      const begun = JSON.parse(new AccessLine(clock, pseudonyms, paths, 'instance').ofAdmission(record));
      for (const line of [whole, begun]) {
        validate(line);
        expect(validate.errors).toBeNull();
        const present = names.filter(name => line[name] !== undefined);
        expect(Object.keys(line)).toEqual(present);
        for (const name of present) {
          seen.add(name);
          expect([name, line[name], isAccessValue(name, line[name])]).toEqual([name, line[name], true]);
        }
        const kinds = line === whole ? ['every', 'end'] : ['every'];
        const required = names.filter(name => kinds.includes(ACCESS_FIELDS[name].on));
        expect(required.filter(name => line[name] === undefined)).toEqual([]);
      }
      const ends = names.filter(name => ACCESS_FIELDS[name].on.includes('end'));
      expect(ends.filter(name => begun[name] !== undefined)).toEqual([]);
    }),
    played(1_000),
  );
  expect(names.filter(name => !seen.has(name))).toEqual([]);
});

test.each([
  ['access', { type: 'admission' }],
  ['access', { status: '200' }],
  ['access', { status: undefined }],
  ['access', { outcome: 'lost' }],
  ['access', { route: 7 }],
  ['access', { retried: false }],
  ['access', { shadow: ['nobody'] }],
  ['admission', { status: 200 }],
  ['admission', { class: undefined }],
])('the JSON Schema refuses an %s line with %j', (type, change) => {
  const validate = new Ajv({ validateFormats: false, allowUnionTypes: true }).compile(accessLogSchema());
  const lines = new AccessLine(new FrozenClock(), pseudonyms, paths, 'instance');
  const record = exchangeRecord();
  const line = JSON.parse(type === 'access' ? lines.of(record) : lines.ofAdmission(record));
  expect(validate(line)).toBe(true);
  expect(validate({ ...line, ...change })).toBe(false);
});

test('an ordinary line reads so', () => {
  const line = lineOf(exchangeRecord());
  expect(JSON.parse(line)).toMatchObject({ level: 'info', type: 'access', client: '192.0.2.1' });
  expect(line.slice(line.indexOf('"requestId"'))).toBe(
    '"requestId":"Ab3dEf6hIj-1","arrivedAt":1790000000123,"sequence":1,"protocol":"http1","method":"GET",' +
      `"route":"/things/{id}","path":"/{${pseudonyms.ofPart('/things/42')}}",` +
      '"upstream":"api","client":"192.0.2.1","class":"user",' +
      `"caller":"${pseudonyms.of('web:alice')}","bucket":"things","decision":"admitted",` +
      `"decidedAt":1790000000123,"main":"${pseudonyms.of('42')}",` +
      '"status":200,"outcome":"forwarded","bytesReceived":0,"bytesSent":1234,"durationMs":12.346,"upstreamMs":11.5}\n',
  );
});

test('a request that was held says for how long, and no other does', () => {
  expect(JSON.parse(lineOf(exchangeRecord({ heldMs: 31.25 }))).waitedMs).toBe(31.25);
  expect(JSON.parse(lineOf(exchangeRecord()))).not.toHaveProperty('waitedMs');
});

test('a refused token is logged with its reason and the claim that it lacks', () => {
  const told = (reason: InvalidReason, claim: string | null) => {
    const line = JSON.parse(lineOf(exchangeRecord({ tokenRefused: { reason, claim, principal: null } })));
    expect(line).not.toHaveProperty('refusedCaller');
    return [line.tokenRefused, line.claim];
  };
  expect(told('expired', null)).toEqual(['expired', undefined]);
  expect(told('claim', 'https://claims.example/"org"')).toEqual(['claim', 'https://claims.example/"org"']);
});

test('a refused token is logged with the pseudonym of its caller, apart from that of callers who were served', () => {
  const tokenRefused = { reason: 'expired', claim: null, principal: 'user:web ada' } as const;
  const caller = { class: 'address', principal: null } as const;
  const line = JSON.parse(lineOf(exchangeRecord({ caller, tokenRefused })));
  expect(line.refusedCaller).toBe(pseudonyms.of('user:web ada'));
  expect(line).not.toHaveProperty('caller');
});

test('what a client did wrong has its cause beside it; the cause of a fault has a line of its own', () => {
  const [message, cause] = ['The code was not accepted.', 'the token endpoint answered 400 invalid_grant'];
  const told = (side: ErrorSide) =>
    JSON.parse(lineOf(exchangeRecord({ error: { message, side, cap: null, cause } }))).cause;
  expect(told('client')).toBe(cause);
  for (const side of ['gateway', 'upstream', 'provider', 'store'] as const)
    expect(told(side)).toBeUndefined();
});

test.each([
  ['a quotation mark', '"'],
  ['the end of the object', '"}\n{"type":"access","client":"'],
  ['a backslash', 'a\\'],
  ['an escaped quotation mark', '\\"'],
  ['line ends', 'a\r\nb'],
  ['controls', '\u0000\u0008\u001b[31m\u007f\u0085'],
  ['separators that JavaScript takes for line ends', '\u2028\u2029'],
  ['halves of astral characters', '\ud83d and \ude00'],
  ['astral characters', '\u{1f600}'],
  ['much text', '"x"'.repeat(10_000)],
])('%s in a text from outside stays in it, on one line of good UTF-8', (_, text) => {
  const error = { message: text, side: 'client', cap: null, cause: text } as const;
  const record = exchangeRecord({ requestId: text, method: text, clientAddress: text, error });
  const line = lineOf(record);
  expect(line.indexOf('\n')).toBe(line.length - 1);
  expect(line.isWellFormed()).toBe(true);
  expect(JSON.parse(Buffer.from(line).toString())).toMatchObject({
    type: 'access',
    requestId: text,
    method: text,
    client: text,
    error: text,
    cause: text,
  });
});

test.each([0, 0.000_4, 0.001, 0.1, 0.999_4, 0.999_6, 1, 1.005, 12.34, 999.999_9, 86_400_000.5, -0.5])(
  '%d ms are told to the microsecond',
  durationMs => {
    expect(JSON.parse(lineOf(exchangeRecord({ durationMs }))).durationMs).toBeCloseTo(durationMs, 2);
    expect(JSON.parse(lineOf(exchangeRecord({ durationMs }))).durationMs).toBe(
      Math.round(durationMs * 1_000) / 1_000 + 0,
    );
  },
);

test('lines of one writer have the time at which each was written', () => {
  const clock = new FrozenClock();
  const lines = new AccessLine(clock, pseudonyms, paths, 'instance');
  for (const passed of [0, 0, 1, 0, 999, 60_000, -5]) {
    clock.advance(passed);
    expect(JSON.parse(lines.of(exchangeRecord())).time).toBe(new Date(clock.epochMs()).toISOString());
  }
});

test('an exchange that lasts has a line at its admission, without an end, and says so at its end', () => {
  const lines = new AccessLine(new FrozenClock(), pseudonyms, paths, 'instance');
  const record = exchangeRecord({ lasted: true });
  const [begun, ended] = [JSON.parse(lines.ofAdmission(record)), JSON.parse(lines.of(record))];
  expect(begun).toMatchObject({ type: 'admission', decision: 'admitted', requestId: record.requestId });
  expect(
    Object.keys(begun).filter(name => ['status', 'outcome', 'durationMs', 'lasted'].includes(name)),
  ).toEqual([]);
  expect(ended).toMatchObject({ ...begun, type: 'access', lasted: true, status: 200 });
});

test('the lines of a process have one instance, and those under one key one key id', () => {
  const [one, other] = [
    new AccessLine(new FrozenClock(), pseudonyms, paths, 'instance'),
    new AccessLine(new FrozenClock(), new Pseudonyms(Buffer.alloc(32, 2)), paths, 'of-another-process'),
  ];
  const [first, second, foreign] = [one, one, other].map(lines => JSON.parse(lines.of(exchangeRecord())));
  expect(first.instance).toMatch(/^[\w-]{8}$/);
  expect(second.instance).toBe(first.instance);
  expect(foreign.instance).not.toBe(first.instance);
  expect(first.keyId).toMatch(/^[\w-]{8}$/);
  expect(foreign.keyId).not.toBe(first.keyId);
});

test('a reload renames paths that were written before', () => {
  const lines = new AccessLine(new FrozenClock(), pseudonyms, paths, 'instance');
  const pathOf = () => JSON.parse(lines.of(exchangeRecord())).path;
  expect(pathOf()).toBe(`/{${pseudonyms.ofPart('/things/42')}}`);
  lines.use({ rewrite: (_, __, name) => `/things/{${name('42')}}` });
  expect(pathOf()).toBe(`/things/{${pseudonyms.ofPart('42')}}`);
});

test('no text of a client, a claim or a file brings characters into a line that are not seen', () => {
  const odd = 'a\u0000\u001b[2J\u007f\u009b31m\u061c\u200e\u202e\u2066b';
  const error = { message: odd, side: 'client', cap: null, cause: odd } as const;
  const record = exchangeRecord({ userAgent: odd, method: odd, route: odd, path: odd, upstream: odd, error });
  const line = new AccessLine(new FrozenClock(), pseudonyms, { rewrite: path => path }, 'instance').of(
    record,
  );
  let logged = '';
  makeLogger('info', { write: text => (logged += text) }).info({ [odd]: odd }, odd);
  for (const text of [line, logged]) expect(text).toMatch(/^[ -~]*\n$/);
  expect(JSON.parse(line)).toMatchObject({ userAgent: odd, route: odd, path: odd, error: odd, cause: odd });
  expect(JSON.parse(logged)).toMatchObject({ [odd]: odd, msg: odd });
});
