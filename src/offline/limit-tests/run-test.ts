import type { ExpectedOutcome, Snapshot, TestedRequest } from '../../config/index.ts';
import { firstValue, formatDuration } from '../../core/index.ts';
import { type Exchange, RateLimitError } from '../../gateway/index.ts';
import { normalizeAddress } from '../../wire/http/index.ts';
import { type Asked, type SentRequest, TestGateway } from './test-gateway.ts';
import type { TestIssuer } from './test-identity.ts';

/** A failed expectation: the index of its request, and what happened instead. */
export interface TestFailure {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * Sends the requests of a test, in virtual time, to a gateway with this configuration. Counters are empty at first.
 *
 * @param startMs when the test begins
 */
export async function runTest(
  snapshot: Snapshot,
  startMs: number,
  requests: readonly TestedRequest[],
): Promise<TestFailure[]> {
  const gateway = await TestGateway.of(snapshot, startMs);
  const callers = new Callers(gateway.issuers);
  const failures: TestFailure[] = [];
  let nowMs = 0;
  for (const [index, request] of requests.entries()) {
    const { at = nowMs, repeat, every } = request;
    if (at < nowMs) {
      const message = `expected a moment from ${formatDuration(nowMs)}, when the requests above end, got ${formatDuration(at)}`;
      failures.push({ path: [index, 'at'], message });
    }
    const sent = callers.requestOf(request);
    const found = 'path' in sent ? [sent] : await send(gateway, Math.max(at, nowMs), sent, request);
    failures.push(...found.map(({ path, message }) => ({ path: [index, ...path], message })));
    nowMs = Math.max(at, nowMs) + (repeat - 1) * every;
  }
  return failures;
}

/** Sends one request as often as its `repeat` says. Reports the first repetition whose outcome is not the expected one. */
async function send(
  gateway: TestGateway,
  atMs: number,
  sent: SentRequest,
  { repeat, every, answer, takes, expect }: TestedRequest,
): Promise<TestFailure[]> {
  for (let n = 1; n <= repeat; n++) {
    const asked = await gateway.ask(atMs + (n - 1) * every, sent, { ...answer, takesMs: takes });
    const outcome = outcomeOf(asked.exchange);
    if (expect.outcome !== undefined && outcome !== expect.outcome) {
      const which = repeat === 1 ? '' : ` at request ${n} of ${repeat}`;
      const message = `expected ${expect.outcome}, got ${outcome}${which}${whyRefused(asked)}`;
      return [{ path: ['expect', 'outcome'], message }];
    }
    if (n === repeat) return compare(expect, asked);
  }
  return [];
}

/** Adds the status and error to the outcome "refused", which alone does not explain it. */
function whyRefused({ exchange }: Asked): string {
  const { error, status } = exchange.response;
  return outcomeOf(exchange) === 'refused' ? `: ${status}, ${error?.message}` : '';
}

/** Turns the requests of a test file into requests for the gateway. Each caller has its own address, unless the test names one. */
class Callers {
  readonly #issuers: readonly TestIssuer[];
  readonly #addresses = new Map<string, string>();

  constructor(issuers: readonly TestIssuer[]) {
    this.#issuers = issuers;
  }

  requestOf({ by, send }: TestedRequest): SentRequest | TestFailure {
    const [, word = '', host = 'gateway.test', target = ''] =
      /^(\S+) (?:https?:\/\/([^/]+))?(.*)$/.exec(send) ?? [];
    const authorization = this.#authorizationOf(by);
    if ('path' in authorization) return authorization;
    const isCall = word === 'GRPC';
    const fields = ['Host', host, ...authorization.fields];
    return {
      method: isCall ? 'POST' : word,
      target,
      protocol: isCall ? 'h2' : 'http1',
      fields: isCall ? [...fields, 'content-type', 'application/grpc', 'te', 'trailers'] : fields,
      peer: by.address === undefined ? this.#addressOf(by) : (normalizeAddress(by.address) ?? by.address),
    };
  }

  #authorizationOf({
    provider,
    user,
    bot,
    claims: further,
  }: TestedRequest['by']): { readonly fields: string[] } | TestFailure {
    const values = user ?? bot;
    if (values === undefined) return { fields: [] };
    const kind = user === undefined ? 'bot' : 'user';
    const issuer = this.#issuers.find(({ name }) => provider === undefined || name === provider);
    if (issuer === undefined && provider !== undefined)
      return { path: ['by', 'provider'], message: `the configuration has no provider "${provider}"` };
    const claims = issuer?.claimsOf(kind) ?? null;
    const path = ['by', kind];
    if (issuer === undefined || claims === null)
      return { path, message: `the configuration knows no ${kind}s` };
    if (claims.length !== values.length)
      return { path, message: `expected the values of ${claims.join(' and ')}, got ${values.length}` };
    return { fields: ['Authorization', `Bearer ${issuer.token(kind, values, further)}`] };
  }

  /** An address of 198.18.0.0/15, which is reserved for tests of network devices (RFC 2544), so no operator lists it. */
  #addressOf({ claims: _, ...by }: TestedRequest['by']): string {
    const id = JSON.stringify(by);
    const n = this.#addresses.size + 1;
    const address = this.#addresses.get(id) ?? `198.${18 + ((n >> 16) & 1)}.${(n >> 8) & 255}.${n & 255}`;
    this.#addresses.set(id, address);
    return address;
  }
}

function compare(expect: TestedRequest['expect'], asked: Asked): TestFailure[] {
  const { ruling, response, shadowRefusals } = asked.exchange;
  const { error } = response;
  const retryAfterMs = error instanceof RateLimitError ? error.retryAfterMs : null;
  const inShadow = shadowRefusals.map(by => (by === 'caller' ? 'bucket' : by));
  const compared: [path: readonly string[], wanted: unknown, got: unknown][] = [
    [['status'], expect.status, response.status],
    [['bucket'], expect.bucket, ruling?.bucket ?? 'none'],
    [['limit'], expect.limit, numberOf(asked, 'x-ratelimit-limit')],
    [['remaining'], expect.remaining, numberOf(asked, 'x-ratelimit-remaining')],
    [['reset_after'], inWords(expect.reset_after), inWords(msOf(asked, 'x-ratelimit-reset-after'))],
    [['shadow'], inOrder(expect.shadow), inOrder(inShadow)],
    [['retry_after'], inWords(expect.retry_after), inWords(retryAfterMs)],
    ...Object.entries(expect.headers).map(
      ([name, wanted]) =>
        [['headers', name], wanted, fieldOf(asked, name) ?? 'none'] as [string[], string, string],
    ),
  ];
  return compared.flatMap(([path, wanted, got]) =>
    wanted === undefined || wanted === (got ?? 'none')
      ? []
      : [{ path: ['expect', ...path], message: `expected ${wanted}, got ${got ?? 'none'}` }],
  );
}

/** A set of words as text, such as `bucket, global`; `undefined` if there are none. */
function inOrder(words: readonly string[] | undefined): string | undefined {
  return words === undefined || words.length === 0 ? undefined : words.toSorted().join(', ');
}

function inWords(ms: number | null | undefined): string | undefined {
  return ms === undefined || ms === null ? undefined : formatDuration(ms);
}

/** What the gateway decided about a request: admitted, or why it refused. */
function outcomeOf({ response, ruling, destination, upstreamLeg }: Exchange): ExpectedOutcome {
  const { error } = response;
  if (error instanceof RateLimitError) {
    if (error.restrictedBy !== null)
      return error.restrictedBy.startsWith('blocked') ? 'blocked' : 'restricted';
    if (ruling === null || ruling.outcome === 'admitted') return 'refused';
    return ruling.outcome === 'caller' ? 'bucket' : ruling.outcome;
  }
  const isServed = upstreamLeg !== null || destination.kind === 'sign-in' || destination.kind === 'metadata';
  return isServed && ruling?.outcome === 'admitted' ? 'admitted' : 'refused';
}

/** The number in a response field; `null` if the response lacks it. */
function numberOf(asked: Asked, name: string): number | null {
  const value = fieldOf(asked, name);
  return value === null ? null : Number(value);
}

/** The number of seconds in a response field, in milliseconds. */
function msOf(asked: Asked, name: string): number | null {
  const seconds = numberOf(asked, name);
  return seconds === null ? null : Math.round(seconds * 1_000);
}

/** The values of a response field, joined if it occurs several times; `null` if the response lacks it. */
function fieldOf({ fields }: Asked, name: string): string | null {
  const lowerName = name.toLowerCase();
  if (firstValue(fields, lowerName) === undefined) return null;
  return fields.filter((_, i) => i % 2 === 1 && fields[i - 1]?.toLowerCase() === lowerName).join(', ');
}
