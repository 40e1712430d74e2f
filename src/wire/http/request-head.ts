import type { Fields } from '../../core/index.ts';
import type { FieldRule, ForwardingRules } from './field-rules.ts';
import { writeMaxForwards } from './target.ts';

/**
 * The result of one pass over a request's header fields: those that the gateway reads, and `kept`, those that are forwarded
 * unchanged.
 */
export class RequestHead {
  /** The value of `Host`; `null` if absent. */
  host: string | null = null;
  authorization: string | null = null;
  /** The API key; `null` if absent, or if no field for keys is configured. */
  apiKey: string | null = null;
  /** True if `Connection` names Authorization: the client intends it for the gateway only, so it is not forwarded. */
  authorizationForHop = false;
  /** The `X-Request-Id` of a trusted proxy; '' if there are several, since none of them is more credible than the others. */
  requestId: string | null = null;
  /** The `traceparent` of a trusted proxy if the gateway takes part in traces; '' if there are several. */
  traceParent: string | null = null;
  /** Its `tracestate`, all lines joined. */
  traceState: string | null = null;
  /** True if `TE` says that the client accepts trailers (RFC 9110, 10.1.4). */
  takesTrailers = false;
  /** The values of a trusted proxy's `X-Forwarded-For` lines, in order. */
  forwardedFor: string[] | null = null;
  forwardedProto: string | null = null;
  forwardedHost: string | null = null;
  /**
   * The client's certificate as reported by a trusted proxy: '' if it reports none, or several. `null` if the peer may not report
   * one, so that the connection's certificate counts.
   */
  certificate: string | null = null;
  /** The value of `DPoP` if tokens may be bound to a key; '' if there are several. */
  proof: string | null = null;
  /** True if `Connection` names DPoP, as for Authorization. */
  proofForHop = false;
  /** A repeated field that must be unique; `null` if there is none. */
  doubled: FieldRule | null = null;
  /** True if an untrusted peer sent fields that are reserved for trusted proxies. */
  untrustedClaims = false;
  /** The last `X-Forwarded-For` line of an untrusted peer; `claimedForwarded` is its last `Forwarded`. */
  claimedFor: string | null = null;
  claimedForwarded: string | null = null;
  #certificates = 0;
  #kept: string[] = [];

  /** @param hopFields names of the fields that `Connection` limits to this hop, in lower case */
  constructor(fields: Fields, rules: ForwardingRules, trusted: boolean, hopFields: readonly string[]) {
    const table = rules.table;
    const kept = this.#kept;
    if (trusted && rules.certificates) this.certificate = '';
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const name = fields[i] as string;
      const value = fields[i + 1] as string;
      const entry = table.find(name);
      if (entry === undefined || entry.value === 'keep') kept.push(name, value);
      // `Content_Length` and `X.Real.IP` only resemble the fields that a backend may mistake them for: drop them, and do not read
      // them.
      else if (entry.value !== 'drop' && entry.spells(name)) this.#read(entry.value, name, value, trusted);
    }
    if (hopFields.length > 0) this.#dropNamed(new Set(hopFields));
  }

  get kept(): Fields {
    return this.#kept;
  }

  #read(rule: FieldRule, name: string, value: string, trusted: boolean): void {
    switch (rule) {
      case 'host':
        this.host = this.#once(rule, this.host, value);
        break;
      case 'authorization':
        this.authorization = this.#once(rule, this.authorization, value);
        break;
      case 'api-key':
        this.apiKey = this.#once(rule, this.apiKey, value);
        break;
      case 'proof':
        this.proof = this.proof === null ? value : '';
        break;
      case 'te':
        this.takesTrailers ||= takesTrailers(value);
        break;
      case 'traceparent':
        // Browsers send it as well, so from an untrusted peer it is ignored, not refused.
        if (trusted) this.traceParent = this.traceParent === null ? value : '';
        break;
      case 'tracestate':
        if (trusted) this.traceState = this.traceState === null ? value : `${this.traceState},${value}`;
        break;
      case 'internal':
        break;
      default:
        if (trusted) this.#believe(rule, name, value);
        else if (rule !== 'x-request-id') this.#disbelieve(rule, value);
    }
  }

  #disbelieve(rule: FieldRule, value: string): void {
    this.untrustedClaims = true;
    if (rule === 'x-forwarded-for') this.claimedFor = value;
    else if (rule === 'forwarded') this.claimedForwarded = value;
  }

  #believe(rule: FieldRule, name: string, value: string): void {
    if (rule === 'x-request-id') this.requestId = this.requestId === null ? value : '';
    else if (rule === 'x-forwarded-for') this.#forwardedFor(value);
    else if (rule === 'x-forwarded-proto') this.forwardedProto = value;
    else if (rule === 'x-forwarded-host') this.forwardedHost = value;
    else {
      if (rule === 'certificate') this.#certificate(value);
      this.#kept.push(name, value);
    }
  }

  #certificate(value: string): void {
    this.certificate = this.#certificates === 0 ? value : '';
    this.#certificates++;
  }

  #forwardedFor(value: string): void {
    this.forwardedFor ??= [];
    this.forwardedFor.push(value);
  }

  #once(rule: FieldRule, before: string | null, value: string): string {
    if (before === null) return value;
    this.doubled = rule;
    return before;
  }

  /** Drops the fields that end at this hop. */
  #dropNamed(named: ReadonlySet<string>): void {
    if (named.has('authorization')) this.authorizationForHop = true;
    if (named.has('dpop')) this.proofForHop = true;
    const kept = this.#kept;
    this.#kept = [];
    for (let i = 0; i + 1 < kept.length; i += 2) {
      const name = kept[i] as string;
      if (!named.has(name.toLowerCase())) this.#kept.push(name, kept[i + 1] as string);
    }
  }
}

function takesTrailers(value: string): boolean {
  return value === 'trailers' || /(?:^|[,\t ])trailers(?:[,\t ]|$)/i.test(value);
}

/** What the gateway adds about a request for the upstream. */
interface Provenance {
  /** The value of `Host` to send. */
  readonly host: string;
  /** The host that the client sent its request to, with its port. */
  readonly clientHost: string;
  /** The address of the client's connection. */
  readonly peer: string;
  readonly scheme: 'http' | 'https';
  readonly version: HttpVersion;
  readonly requestId: string;
  /** Fields that continue a trace. */
  readonly trace: Fields;
  /** The value of `Authorization` to send; `null` for none. */
  readonly authorization: string | null;
  /** Fields that identify the caller. */
  readonly identity: Fields;
  /** Further fields about where the request came from. */
  readonly origin: Fields;
  /** The new value of the client's `Max-Forwards`; `null` to leave it as it is. */
  readonly maxForwards: number | null;
}

/** Returns the fields that go to the upstream: the client's that may pass, then the gateway's own. */
export function upstreamFields(head: RequestHead, provenance: Provenance): Fields {
  const fields = head.kept.slice();
  if (provenance.maxForwards !== null) writeMaxForwards(fields, provenance.maxForwards);
  fields.push('Host', provenance.host);
  if (provenance.authorization !== null) fields.push('Authorization', provenance.authorization);
  for (const part of provenance.identity) fields.push(part);
  for (const part of provenance.trace) fields.push(part);
  fields.push(
    'X-Forwarded-For',
    head.forwardedFor === null ? provenance.peer : `${head.forwardedFor.join(', ')}, ${provenance.peer}`,
    'X-Forwarded-Proto',
    head.forwardedProto ?? provenance.scheme,
    'X-Forwarded-Host',
    head.forwardedHost ?? provenance.clientHost,
  );
  for (const part of provenance.origin) fields.push(part);
  addTrace(fields, provenance.requestId, provenance.version);
  return fields;
}

// W3C Trace Context (https://www.w3.org/TR/trace-context/).

/** The content of a valid `traceparent`. */
interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The id of the sender's span: 16 hexadecimal digits. */
  readonly spanId: string;
  /** True if the sender records the trace. */
  readonly sampled: boolean;
}

/** A `traceparent`. Later versions may add further parts; `ff` is not a version. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/** Reads a `traceparent`. Returns `null` if it is invalid; then the accompanying `tracestate` is ignored as well (3.3). */
export function readTraceParent(text: string): TraceParent | null {
  const [, version, traceId, spanId, flags, rest] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === '00' && rest !== undefined) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** Returns the fields that continue a trace. `state` is the value of `tracestate`; `null` if absent. */
export function traceContextFields({ traceId, spanId, sampled }: TraceParent, state: string | null): Fields {
  const parent = `00-${traceId}-${spanId}-0${sampled ? SAMPLED : 0}`;
  return state === null ? ['traceparent', parent] : ['traceparent', parent, 'tracestate', state];
}

/** The protocol version of a message, as written in `Via` (RFC 9110, 7.6.3). */
export type HttpVersion = '1.0' | '1.1' | '2';

const VIA = { '1.0': '1.0 weir', '1.1': '1.1 weir', '2': '2 weir' } as const;

/**
 * Adds the fields that trace a message: `Via`, required of gateways (RFC 9110, 7.6.3), with the protocol version of the received
 * message, and the id of the exchange in the gateway's log.
 */
export function addTrace(fields: string[], requestId: string, version: HttpVersion = '1.1'): void {
  fields.push('Via', VIA[version]);
  addRequestId(fields, requestId);
}

export function addRequestId(fields: string[], requestId: string): void {
  fields.push('X-Request-Id', requestId);
}
