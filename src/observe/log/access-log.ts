import { createHmac, hash } from 'node:crypto';
import type { Logger } from 'pino';
import type {
  AccessField,
  ClaimedValues,
  Clock,
  ExchangeListener,
  ExchangeRecord,
  RemovedChallenge,
  RestrictionRecord,
  TokenRefusal,
} from '../../core/index.ts';
import { ACCESS_KEYS, accessWords, CALL_PROTOCOLS, escapeInvisible, Memo } from '../../core/index.ts';
import { OncePerInterval, oncePerSecond } from './once-per-interval.ts';

const HOUR_MS = 3_600_000;

export interface PathNaming {
  /**
   * Returns a path with configured words unchanged, and `{name}` for each segment that a client chose. `path`: canonical;
   * `isCall`: of a gRPC call.
   */
  rewrite(path: string, isCall: boolean, name: (value: string) => string): string;
}

/**
 * Logs faults with their cause, whether or not there is an access log; for each kind at most one line per second, with the number
 * of faults since the last line. A client's mistake, such as sending a spent code, is not a fault: the access log has its cause.
 */
export class FaultLog implements Partial<ExchangeListener> {
  readonly #log: Logger;
  readonly #outbreak: OncePerInterval;
  readonly #removals: OncePerInterval;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#outbreak = oncePerSecond(clock);
    this.#removals = new OncePerInterval(clock, HOUR_MS);
  }

  finished(record: ExchangeRecord): void {
    if (record.error === null || record.error.cause === null || record.error.side === 'client') return;
    const { requestId, route, upstream, status, error } = record;
    const { side, cause } = error;
    const faults = this.#outbreak.count(`${upstream} ${status} ${side} ${cause}`);
    if (faults === 0) return;
    const line = { type: 'fault', requestId, route, upstream, status, side, faults, cause };
    if (side === 'gateway') this.#log.error(line, error.message);
    else this.#log.warn(line, error.message);
  }

  /** Logs once an hour for each upstream: all of its 401s are affected. */
  challengeRemoved({ upstream, because }: RemovedChallenge): void {
    if (this.#removals.count(upstream) === 0) return;
    this.#log.warn(
      { type: 'connection_authentication', upstream, because },
      `${upstream} authenticates connections (NTLM, Negotiate), ${WHY_NOT[because]}: these schemes were removed from its answer`,
    );
  }
}

/** Why a client's connection could not own one to the upstream. */
const WHY_NOT: Readonly<Record<RemovedChallenge['because'], string>> = {
  client_h2: 'which a client of HTTP/2 cannot do',
  upstream_h2: 'which HTTP/2 cannot do: reach it by http1',
  proxy: 'which clients behind a proxy cannot do unless it speaks the PROXY protocol',
};

/** The text before each value: the field names are declared in core/listeners/access-fields.ts. */
const K = ACCESS_KEYS;
// Fields whose values are from a closed list, rendered once.
const TYPE = accessWords('type');
const PROTOCOL = accessWords('protocol');
const DECISION = accessWords('decision');
const CONSUMES = accessWords('draws');
const RESTRICTED = accessWords('restricted');
const OUTCOME = accessWords('outcome');
const SCOPE = accessWords('scope');
const TOKEN_REFUSED = accessWords('tokenRefused');
const SIDE = accessWords('side');
const CAP = accessWords('cap');
// The text before pseudonyms that most lines have, with the opening quotation mark.
const CALLER = `${K.caller}"`;
const MAIN = `${K.main}"`;
/** Text that needs no escaping in a JSON string: printable ASCII except the quotation mark and the backslash. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Maximum characters of a path that is written unchanged. */
const MAX_PLAIN_PATH = 1_000;
/** Maximum paths and maximum pseudonyms remembered. */
const MAX_REMEMBERED = 20_000;
/** Longer paths are rendered each time, because clients choose the length. */
const MAX_REMEMBERED_PATH = 256;
const MAX_USER_AGENT = 256;
const INSTANCE_DIGITS = 8;
/** '', '.001' to '.999': thousandths without trailing zeros. */
const THOUSANDTHS = Array.from({ length: 1_000 }, (_, i) => String(i / 1_000).slice(1));

/**
 * Renders one JSON line per request, with what operators and a replay of the traffic need, and without tokens, codes, query
 * strings or path values. A long request also has a line for its admission.
 *
 * Bypasses the logger, which takes 5 microseconds per line; JSON.stringify takes 1.3, this 0.7.
 */
export class AccessLine {
  readonly #clock: Clock;
  readonly #pseudonyms: Pseudonyms;
  // Cache rendered members that have few values: names in the configuration, and methods that the parser knows.
  readonly #method = member('method');
  readonly #route = member('route');
  readonly #host = member('host');
  readonly #upstream = member('upstream');
  readonly #bucket = member('bucket');
  readonly #class = member('class');
  /** The members for a token's limit claims, by the claims object, so that they are forgotten together with the caller. */
  #claimed = new WeakMap<ClaimedValues, string>();
  /** Two per path: as HTTP, and as gRPC. */
  readonly #httpPath: Memo;
  readonly #callPath: Memo;
  /** Distinguishes the lines of this process from those of others, and from those before its start. */
  readonly #instance: string;
  /** The fields that identify this process and the key of its pseudonyms. */
  #process: string;
  #paths: PathNaming;
  #openedAtMs = Number.NaN;
  #time = '';

  /**
   * @param instance a random name; its first digits are written
   * @param remembered maximum paths remembered, for HTTP and for gRPC each
   */
  constructor(
    clock: Clock,
    pseudonyms: Pseudonyms,
    paths: PathNaming,
    instance: string,
    remembered = MAX_REMEMBERED,
  ) {
    this.#httpPath = new Memo(path => this.#rewrite(path, false), remembered);
    this.#callPath = new Memo(path => this.#rewrite(path, true), remembered);
    this.#clock = clock;
    this.#instance = instance.slice(0, INSTANCE_DIGITS);
    this.#pseudonyms = pseudonyms;
    this.#paths = paths;
    this.#process = this.#describeProcess();
  }

  /** Applies the configuration: its path names, and the key of the pseudonyms. */
  use(paths: PathNaming): void {
    this.#paths = paths;
    this.#process = this.#describeProcess();
    this.#claimed = new WeakMap();
    this.#httpPath.forget();
    this.#callPath.forget();
  }

  #describeProcess(): string {
    return `${K.instance}"${this.#instance}"${K.keyId}"${this.#pseudonyms.keyId}"`;
  }

  /** Returns the first line of a long exchange, with the facts known at its admission. */
  ofAdmission(record: ExchangeRecord): string {
    return `${this.#begin('admission', record)}}\n`;
  }

  /** Returns the line, with its line feed. */
  of(record: ExchangeRecord): string {
    let line = this.#begin('access', record);
    if (record.shadowRefusals.length > 0) line += `${K.shadow}${asJson(record.shadowRefusals)}`;
    if (record.lasted) line += `${K.lasted}true`;
    line += `${K.status}${record.status}${OUTCOME[record.outcome]}`;
    if (record.grpcStatus !== null) line += `${K.grpcStatus}${record.grpcStatus}`;
    line += `${K.bytesReceived}${record.bytesReceived}${K.bytesSent}${record.bytesSent}`;
    line += `${K.durationMs}${millis(record.durationMs)}${K.upstreamMs}`;
    line += record.upstreamMs === null ? 'null' : millis(record.upstreamMs);
    if (record.endpoint !== null) line += `${K.endpoint}${quoted(record.endpoint)}`;
    if (record.scopeOf429 !== null) line += SCOPE[record.scopeOf429];
    if (record.offenceAtMs > 0) line += `${K.offenceAt}${record.offenceAtMs}`;
    else if (record.returnedAtMs > 0) line += `${K.returnedAt}${record.returnedAtMs}`;
    if (record.price !== null) line += `${K.price}${record.price}`;
    if (record.heldMs > 0) line += `${K.waitedMs}${millis(record.heldMs)}`;
    if (record.retried) line += `${K.retried}true`;
    if (record.tokenRefused !== null) line += this.#refusal(record.tokenRefused);
    if (record.error !== null) line += errorMembers(record.error);
    return `${line}}\n`;
  }

  /** Renders the common part of both lines: the caller and the request, and what the limits decided. */
  #begin(type: 'access' | 'admission', record: ExchangeRecord): string {
    let line = `${this.#open()}${TYPE[type]}${this.#process}${K.requestId}${quoted(record.requestId)}`;
    if (record.trace !== null) line += `${K.traceId}"${record.trace.traceId}"`;
    line += `${K.arrivedAt}${record.arrivedAtMs}${K.sequence}${record.sequence}`;
    line += PROTOCOL[record.protocol] + this.#method(record.method) + this.#route(record.route);
    if (record.host !== null) line += this.#host(record.host);
    line += this.#path(record) + this.#upstream(record.upstream);
    line += `${K.client}${quoted(record.clientAddress)}${this.#class(record.caller.class)}`;
    if (record.userAgent !== null)
      line += `${K.userAgent}${quoted(record.userAgent.slice(0, MAX_USER_AGENT))}`;
    line += this.#names(record);
    if (record.isPreflight) line += `${K.preflight}true`;
    if (record.isSpared) line += `${K.spared}true`;
    return record.webhook === '' ? line : `${line}${K.webhook}"${this.#pseudonyms.of(record.webhook)}"`;
  }

  /** The beginning of a line, computed once per millisecond. */
  #open(): string {
    const nowMs = this.#clock.epochMs();
    if (nowMs !== this.#openedAtMs) {
      this.#openedAtMs = nowMs;
      this.#time = `{${K.level.slice(1)}"info"${K.time}"${new Date(nowMs).toISOString()}"`;
    }
    return this.#time;
  }

  #path({ path, plainPath, protocol }: ExchangeRecord): string {
    if (plainPath !== null) return `${K.path}${quoted(plainPath.slice(0, MAX_PLAIN_PATH))}`;
    if (path === null) return '';
    const isOfCall = CALL_PROTOCOLS.has(protocol);
    if (path.length > MAX_REMEMBERED_PATH) return this.#rewrite(path, isOfCall);
    return (isOfCall ? this.#callPath : this.#httpPath).of(path);
  }

  #rewrite(path: string, isCall: boolean): string {
    const written = this.#paths.rewrite(path, isCall, value => this.#pseudonyms.ofPart(value));
    return `${K.path}${asJson(written)}`;
  }

  /** Renders groups as pseudonyms, and numbers unchanged. */
  #claimedMembers(claimed: ClaimedValues): string {
    let members = this.#claimed.get(claimed);
    if (members === undefined) {
      const groups = [...claimed.groups].map(
        ([claim, group]) => [claim, this.#pseudonyms.of(group)] as const,
      );
      members = groups.length === 0 ? '' : `${K.groups}${asJson(Object.fromEntries(groups))}`;
      if (claimed.numbers.size > 0) members += `${K.numbers}${asJson(Object.fromEntries(claimed.numbers))}`;
      this.#claimed.set(claimed, members);
    }
    return members;
  }

  /** Renders callers and main values as pseudonyms; buckets and decisions unchanged. */
  #names({ caller, claimed, decision, restriction, arrivedAtMs }: ExchangeRecord): string {
    let names = caller.principal === null ? '' : `${CALLER}${this.#pseudonyms.of(caller.principal)}"`;
    if (claimed !== null) names += this.#claimedMembers(claimed);
    if (decision === null)
      return restriction === null ? names : names + restrictionMembers(restriction, arrivedAtMs);
    names += `${this.#bucket(decision.bucket)}${DECISION[decision.outcome]}`;
    if (decision.period !== '') names += `${K.period}"${decision.period}"`;
    names += `${K.decidedAt}${decision.decidedAtMs}`;
    if (decision.consumes !== 'all') names += CONSUMES[decision.consumes];
    return decision.main === '' ? names : `${names}${MAIN}${this.#pseudonyms.of(decision.main)}"`;
  }

  /** Renders the reason, as in the metric, the missing claim if that is the reason, and the owner of the token if known. */
  #refusal({ reason, claim, principal }: TokenRefusal): string {
    let members = TOKEN_REFUSED[reason];
    if (claim !== null) members += `${K.claim}${quoted(claim)}`;
    return principal === null ? members : `${members}${K.refusedCaller}"${this.#pseudonyms.of(principal)}"`;
  }
}

/** Renders one field, and caches the results. */
function member(name: AccessField): (value: string | null) => string {
  const absent = `${K[name]}null`;
  const memo = new Memo(value => `${K[name]}${asJson(value)}`, MAX_REMEMBERED);
  return value => (value === null ? absent : memo.of(value));
}

/** Renders what refused the request before its limits were checked, and which limits would have been checked. */
function restrictionMembers(
  { by, consumes, isCallerUnknown }: RestrictionRecord,
  arrivedAtMs: number,
): string {
  let members = `${K.decidedAt}${Math.floor(arrivedAtMs)}`;
  if (consumes !== 'all') members += CONSUMES[consumes];
  members += RESTRICTED[by];
  return isCallerUnknown ? `${members}${K.callerUnknown}true` : members;
}

/**
 * Renders the members of an error. Includes the cause only for a client's error: other faults have their own lines (`FaultLog`).
 */
function errorMembers({ message, side, cap, cause }: NonNullable<ExchangeRecord['error']>): string {
  let members = `${K.error}${quoted(message)}${SIDE[side]}`;
  if (cap !== null) members += CAP[cap];
  return side === 'client' && cause !== null ? `${members}${K.cause}${quoted(cause)}` : members;
}

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : asJson(text);
}

function asJson(value: unknown): string {
  return escapeInvisible(JSON.stringify(value));
}

/** Milliseconds to the microsecond, as JSON. Finding the shortest decimal of the float would take three times as long. */
function millis(ms: number): string {
  const micros = Math.round(ms * 1_000);
  const whole = Math.trunc(micros / 1_000);
  const rest = THOUSANDTHS[micros - whole * 1_000];
  return rest === undefined ? JSON.stringify(micros / 1_000) : whole + rest;
}

const DIGITS = 22;
const KEY_DIGITS = 8;

/** HMAC-SHA-256 in base64url, cut to about 128 bits. docs/runbook.md explains how to compute it without Weir. */
export function pseudonymOf(key: Buffer, value: string): string {
  return createHmac('sha256', key).update(value).digest('base64url').slice(0, DIGITS);
}

/**
 * Pseudonyms for callers and main values in logs: with one key, a value always has the same name, and nobody can recover the
 * value without the key.
 */
export class Pseudonyms {
  #key: Buffer;
  #prefix: string;
  /** A pseudonym costs several microseconds, and a caller has many lines. */
  readonly #names: Memo;

  constructor(key: Buffer, remembered = MAX_REMEMBERED) {
    this.#names = new Memo(value => pseudonymOf(this.#key, value), remembered);
    this.#key = key;
    this.#prefix = prefixOf(key);
  }

  /** Changes the key, so that the same value gets another name. */
  use(key: Buffer): void {
    if (key.equals(this.#key)) return;
    this.#key = key;
    this.#prefix = prefixOf(key);
    this.#names.forget();
  }

  /** Identifies the key, so that logs show whether they share one. */
  get keyId(): string {
    return createHmac('sha256', this.#key).update('\0key id').digest('base64url').slice(0, KEY_DIGITS);
  }

  /**
   * Makes a pseudonym for a value in a path, which may be new in every request: an HMAC takes 20 microseconds, this 1. Half of a
   * SHA-256 of key and value: a length-extension attack would need the other half.
   */
  ofPart(value: string): string {
    return hash('sha256', `${this.#prefix}${value}`, 'base64url').slice(0, DIGITS);
  }

  of(value: string): string {
    return this.#names.of(value);
  }
}

/** Keeps hashes of path values distinct from all others under the key. */
function prefixOf(key: Buffer): string {
  return `${key.toString('base64')}\0path\0`;
}
