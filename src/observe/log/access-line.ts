import { type Clock, type ExchangeRecord, Memo, type TokenRefusal } from '../../core/index.ts';
import type { Pseudonyms } from './pseudonyms.ts';

/** Text that needs no escaping in a JSON string: printable ASCII except the quotation mark and the backslash. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Values remembered of each member. */
const MAX_REMEMBERED = 20_000;
/** '', '.001' to '.999': thousandths without trailing zeros. */
const THOUSANDTHS = Array.from({ length: 1_000 }, (_, i) => String(i / 1_000).slice(1));

/** Renders lines of the access log, member by member, as the logger would. */
export class AccessLine {
  readonly #clock: Clock;
  readonly #pseudonyms: Pseudonyms;
  // These have few values: the configuration's names and the parser's methods.
  readonly #method = member('method');
  readonly #route = member('route');
  readonly #upstream = member('upstream');
  readonly #bucket = member('bucket');
  #openedAtMs = Number.NaN;
  #opening = '';

  constructor(clock: Clock, pseudonyms: Pseudonyms) {
    this.#clock = clock;
    this.#pseudonyms = pseudonyms;
  }

  /** The line, with its line feed. */
  of(record: ExchangeRecord): string {
    let line = `${this.#open()},"requestId":${quoted(record.requestId)}`;
    if (record.trace !== null) line += `,"traceId":"${record.trace.traceId}"`;
    line += `,"arrivedAt":${record.arrivedAtMs},"sequence":${record.sequence}`;
    line += `,"protocol":"${record.protocol}"`;
    line += this.#method(record.method) + this.#route(record.route) + this.#upstream(record.upstream);
    line += `,"client":${quoted(record.clientAddress)},"class":"${record.caller.class}"`;
    line += this.#names(record);
    if (record.shadowRefusals.length > 0) line += `,"shadow":${JSON.stringify(record.shadowRefusals)}`;
    line += `,"status":${record.status},"outcome":"${record.outcome}"`;
    if (record.grpcStatus !== null) line += `,"grpcStatus":${record.grpcStatus}`;
    line += `,"bytesReceived":${record.bytesReceived},"bytesSent":${record.bytesSent}`;
    line += `,"durationMs":${millis(record.durationMs)},"upstreamMs":`;
    line += record.upstreamMs === null ? 'null' : millis(record.upstreamMs);
    if (record.retried) line += ',"retried":true';
    if (record.tokenRefused !== null) line += refusalMembers(record.tokenRefused);
    if (record.error !== null) line += errorMembers(record.error);
    return `${line}}\n`;
  }

  /** The beginning of a line, made once a millisecond. */
  #open(): string {
    const nowMs = this.#clock.epochMs();
    if (nowMs !== this.#openedAtMs) {
      this.#openedAtMs = nowMs;
      this.#opening = `{"level":"info","time":"${new Date(nowMs).toISOString()}","type":"access"`;
    }
    return this.#opening;
  }

  /** Callers and main values as pseudonyms; buckets and decisions as they are. */
  #names({ caller, decision }: ExchangeRecord): string {
    let names = caller.principal === null ? '' : `,"caller":"${this.#pseudonyms.of(caller.principal)}"`;
    if (decision === null) return names;
    names += `${this.#bucket(decision.bucket)},"decision":"${decision.outcome}"`;
    return decision.main === '' ? names : `${names},"main":"${this.#pseudonyms.of(decision.main)}"`;
  }
}

/** Renders one member, and remembers how. */
function member(name: string): (value: string | null) => string {
  const absent = `,"${name}":null`;
  const memo = new Memo(value => `,"${name}":${JSON.stringify(value)}`, MAX_REMEMBERED);
  return value => (value === null ? absent : memo.of(value));
}

/** The reason, as in the metric, and the missing claim where that is the reason. */
function refusalMembers({ reason, claim }: TokenRefusal): string {
  const members = `,"tokenRefused":"${reason}"`;
  return claim === null ? members : `${members},"claim":${quoted(claim)}`;
}

/** Only a client's cause: that of a fault has a log line of its own (see `FaultLog`). */
function errorMembers({ message, side, cap, cause }: NonNullable<ExchangeRecord['error']>): string {
  let members = `,"error":${quoted(message)},"side":${quoted(side)}`;
  if (cap !== null) members += `,"cap":"${cap}"`;
  return side === 'client' && cause !== null ? `${members},"cause":${quoted(cause)}` : members;
}

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Milliseconds to the microsecond, as JSON. Finding the shortest decimal of the float would take three times as long. */
function millis(ms: number): string {
  const micros = Math.round(ms * 1_000);
  const whole = Math.trunc(micros / 1_000);
  const rest = THOUSANDTHS[micros - whole * 1_000];
  return rest === undefined ? JSON.stringify(micros / 1_000) : whole + rest;
}
