import type { Fields, Release, Timer } from '../../core/index.ts';
import { firstValue, GrowingBytes, NO_BYTES, withoutFields } from '../../core/index.ts';
import { type HttpVersion, keepResponseFields } from '../../wire/http/index.ts';
import type { Exchange } from '../exchange/index.ts';
import * as responses from '../responses/index.ts';

/** The contract's body is far shorter, so longer ones are not examined. */
const HELD_MAX_BYTES = 16_384;
/** Maximum time from the head to the end of the body. After it, the client gets its response without the body. */
const BODY_MS = 2_000;
export interface UpstreamRefusalDependencies {
  readonly exchange: Exchange;
  readonly reason: string;
  readonly fields: Fields;
  /** Whether the upstream handles CORS itself. */
  readonly cors: boolean;
  readonly via: HttpVersion;
  /** Aborts the upstream's response, and closes its connection. */
  readonly abort: () => void;
}

/**
 * An upstream's 429 on its way to the client (docs/contract.md, 4.8). Forwarded if its head and body follow the contract, with
 * missing bucket fields added; otherwise rewritten. Buffers the body, up to a size, to examine it. Once the response is
 * rewritten, does not wait for the end of the body: the upstream would still be busy with a request that no longer counts as in
 * flight.
 */
export class UpstreamRefusal {
  readonly #parts: UpstreamRefusalDependencies;
  /** The fields of the refusal if it is forwarded. */
  readonly #passing: string[];
  /** The content of its head; `null` if the response is rewritten whatever the body says. */
  readonly #contractHead: responses.ContractHead | null;
  readonly #growing = new GrowingBytes(HELD_MAX_BYTES);
  #held = NO_BYTES;
  #bytes = 0;
  #answered = false;
  #timer: Timer | null = null;
  readonly #onLate = () => this.#parts.exchange.contain(() => this.#rewriteEarly());

  constructor(parts: UpstreamRefusalDependencies) {
    this.#parts = parts;
    this.#passing = this.#keep(true);
    const spoken = responses.contractHead(this.#passing);
    // Without a bucket, the gateway cannot add what the head lacks.
    const mayPass = spoken !== null && (responses.isWhole(spoken) || parts.exchange.rate !== null);
    this.#contractHead = mayPass ? spoken : null;
  }

  /** Takes the complete body, one byte per character. A response to HEAD has none, so its head decides. */
  whole(body: string): void {
    const { method } = this.#parts.exchange.downstream;
    if (
      this.#contractHead !== null &&
      (method === 'HEAD' || responses.bodyFollowsContract(body, this.#contractHead))
    )
      this.#pass(this.#contractHead, body);
    else this.#rewrite();
  }

  /** Called when a body follows: of this length, or of unknown length (`null`). */
  head(bodyLength: number | null): void {
    if (this.#contractHead === null || (bodyLength ?? 0) > HELD_MAX_BYTES) this.#rewriteEarly();
    else this.#timer = this.#parts.exchange.clock.after(BODY_MS, this.#onLate);
  }

  data(chunk: Buffer, release: Release | null): void {
    this.#bytes += chunk.length;
    if (!this.#answered && this.#bytes <= HELD_MAX_BYTES) this.#held = this.#growing.join(this.#held, chunk);
    else if (!this.#answered) this.#rewriteEarly();
    release?.();
  }

  end(): void {
    this.stop();
    if (!this.#answered) this.whole(this.#held.toString('latin1'));
  }

  /** Called when the body breaks off. */
  fail(): void {
    this.stop();
    if (!this.#answered) this.#rewrite();
  }

  /** Stops waiting for the body. */
  stop(): void {
    this.#parts.exchange.clock.cancel(this.#timer);
    this.#timer = null;
  }

  /** Rewrites before the end of the body, and closes the connection unless the end comes in the same read. */
  #rewriteEarly(): void {
    this.stop();
    this.#rewrite();
    queueMicrotask(this.#parts.abort);
  }

  #pass(head: responses.ContractHead, body: string): void {
    const { exchange, reason, via } = this.#parts;
    const { rate, clock } = exchange;
    const completion = rate === null ? null : responses.completionOf(head, this.#passing, rate, clock);
    const fields = withoutFields(
      completion?.fields ?? this.#passing,
      name => name.toLowerCase() === 'cache-control',
    );
    if (exchange.downstream.method !== 'HEAD' && firstValue(fields, 'content-length') === undefined)
      fields.push('Content-Length', String(body.length));
    fields.push('Cache-Control', 'no-store');
    responses.addOwnFields(fields, exchange, completion?.report ?? null, via);
    this.#answer(head.scope, reason, fields, body);
  }

  #rewrite(): void {
    const { exchange, fields: theirs, via } = this.#parts;
    const refusal = responses.rewritten429(theirs, exchange.clock.epochMs());
    const { reason, fields, body } = responses.renderError(refusal);
    const family = responses.readFamily(this.#passing);
    // Keep the upstream's own six fields, which describe its bucket: ours would show units left, which some clients trust more than
    // the wait.
    const isTheirs = family !== null && responses.isWholeBucket(family);
    for (const part of responses.keptFieldsOf(isTheirs ? this.#passing : this.#keep(false)))
      fields.push(part);
    const rate = isTheirs ? null : responses.untilRetry(exchange.rate, refusal.retryAfterMs, exchange.clock);
    if (rate === null && !isTheirs) fields.push('X-RateLimit-Scope', 'shared');
    responses.addOwnFields(fields, exchange, rate === null ? null : { ...rate, scope: 'shared' }, via);
    this.#answer(responses.meantScope(theirs), reason, fields, body);
  }

  #keep(rateLimits: boolean): string[] {
    const { exchange, fields, cors } = this.#parts;
    const policies = rateLimits || !exchange.sendsPolicies;
    const kept = keepResponseFields(fields, { status: 429, chunked: false, rateLimits, policies, cors });
    const { route } = exchange.destination;
    const edits = route?.kind === 'forward' ? route.responseEdits : null;
    return edits === null ? kept : edits.applyToService(kept);
  }

  #answer(scope: responses.Scope, reason: string, fields: Fields, body: string): void {
    const { response } = this.#parts.exchange;
    this.#answered = true;
    this.#held = NO_BYTES;
    this.#growing.forget();
    response.limitedBy = scope;
    response.finish('forwarded', 429, reason, fields, body);
  }
}

/**
 * The fields of a 429 that is forwarded unchanged: if its rate-limit fields follow the contract, they stay and are completed. For
 * routes with `upstream_429: pass`.
 *
 * @param keep the upstream's forwarded fields, with or without those of the family
 */
export function fieldsOf429(
  exchange: Exchange,
  via: HttpVersion,
  keep: (rateLimits: boolean) => string[],
): string[] {
  const { response, rate, clock } = exchange;
  const theirs = keep(true);
  const spoken = responses.contractHead(theirs);
  const completion =
    spoken === null || rate === null ? null : responses.completionOf(spoken, theirs, rate, clock);
  const out = spoken === null ? keep(false) : (completion?.fields ?? theirs);
  const waitMs = responses.retryAfterIn(out, clock.epochMs());
  const own = waitMs === null ? rate : responses.untilRetry(rate, waitMs, clock);
  const report = spoken === null ? own : (completion?.report ?? null);
  response.limitedBy = spoken?.scope ?? rate?.scope ?? 'user';
  if (firstValue(out, 'cache-control') === undefined) out.push('Cache-Control', 'no-store');
  responses.addOwnFields(out, exchange, report, via);
  return out;
}
