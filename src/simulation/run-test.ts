import { principalOf } from '../auth/index.ts';
import type { LimitsModel, TestedRequest } from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import { addressKey, normalizeAddress, parseTarget } from '../http/index.ts';
import type { LimitedRequest } from '../runtime/index.ts';
import { LimitEngine, type Verdict } from './limit-engine.ts';

/** Where a request did not do what was expected of it: the place in the list of requests, and what happened. */
export interface TestFailure {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Any moment does: windows open with their first request. */
const START_MS = 1_800_000_000_000;

/** Sends the requests of a test, in virtual time, to the engine that serves. Counters are empty at first. */
export function runTest(limits: LimitsModel, requests: readonly TestedRequest[]): TestFailure[] {
  const engine = new LimitEngine(limits, START_MS);
  const failures: TestFailure[] = [];
  let nowMs = 0;
  for (const [index, request] of requests.entries()) {
    const { at = nowMs, repeat, every } = request;
    if (at < nowMs) {
      const message = `expected a moment from ${formatDuration(nowMs)}, when the requests above end, got ${formatDuration(at)}`;
      failures.push({ path: [index, 'at'], message });
    }
    const found = send(engine, Math.max(at, nowMs), request);
    failures.push(...found.map(({ path, message }) => ({ path: [index, ...path], message })));
    nowMs = Math.max(at, nowMs) + (repeat - 1) * every;
  }
  return failures;
}

/** Sends one request as often as it says. Reports the first repetition with another outcome than expected. */
function send(engine: LimitEngine, atMs: number, request: TestedRequest): TestFailure[] {
  const { repeat, every, expect } = request;
  const limited = limitedOf(request);
  if (limited === null) return [{ path: ['send'], message: 'the gateway refuses this path with 400' }];
  for (let n = 1; n <= repeat; n++) {
    const verdict = engine.decide(START_MS + atMs + (n - 1) * every, limited);
    if (verdict === null)
      return [{ path: ['send'], message: 'the value of the main parameter is not UTF-8' }];
    const outcome = outcomeOf(verdict);
    if (expect.outcome !== undefined && outcome !== expect.outcome) {
      const which = repeat === 1 ? '' : ` at request ${n} of ${repeat}`;
      return [{ path: ['expect', 'outcome'], message: `expected ${expect.outcome}, got ${outcome}${which}` }];
    }
    if (n === repeat) return compareNumbers(expect, verdict);
  }
  return [];
}

function limitedOf({ by, send }: TestedRequest): LimitedRequest | null {
  const [method = '', sent = ''] = send.split(' ');
  const target = parseTarget(sent, '', method === 'GRPC' ? 'POST' : method);
  if ('rejected' in target) return null;
  return { method, path: target.path, ...callerOf(by), draws: 'all' };
}

function callerOf({ user, bot, address = '' }: TestedRequest['by']) {
  if (user !== undefined) return { callerClass: 'user', caller: principalOf('user', user) } as const;
  if (bot !== undefined) return { callerClass: 'bot', caller: principalOf('bot', bot) } as const;
  return { callerClass: 'address', caller: addressKey(normalizeAddress(address) ?? address) } as const;
}

function outcomeOf({ decision: { admitted, role } }: Verdict): 'admitted' | 'global' | 'bucket' | 'resource' {
  if (admitted) return 'admitted';
  return role === 'caller' ? 'bucket' : (role ?? 'global');
}

function compareNumbers(expect: TestedRequest['expect'], { claim, decision }: Verdict): TestFailure[] {
  const compared = [
    ['bucket', expect.bucket, claim.bucket?.name ?? 'none'],
    ['limit', expect.limit, decision.limit],
    ['remaining', expect.remaining, decision.remaining],
    ['reset_after', inWords(expect.reset_after), inWords(decision.resetAfterMs)],
    ['retry_after', inWords(expect.retry_after), inWords(decision.retryAfterMs)],
  ] as const;
  return compared.flatMap(([key, wanted, got]) =>
    wanted === undefined || wanted === got
      ? []
      : [{ path: ['expect', key], message: `expected ${wanted}, got ${got}` }],
  );
}

function inWords(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatDuration(ms);
}
