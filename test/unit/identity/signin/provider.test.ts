import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type DiscoveryEvent, thisMachine } from '../../../../src/core/index.ts';
import { ProviderFault } from '../../../../src/identity/signin/ask-provider.ts';
import type { ProviderOptions } from '../../../../src/identity/signin/options.ts';
import { Provider, type ProviderMetadata } from '../../../../src/identity/signin/provider.ts';
import { PROVIDER_OPTIONS } from '../../../support/identity-options.ts';

const metadata = (issuer = 'https://id.example'): ProviderMetadata => ({
  issuer,
  authorizationEndpoint: `${issuer}/auth`,
  tokenEndpoint: `${issuer}/token`,
  keySetUrl: `${issuer}/certs`,
  revocationEndpoint: null,
  endSessionEndpoint: null,
  introspectionEndpoint: null,
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A provider whose discoveries end as `answers` say, the last one for ever. */
function provider(responses: readonly (ProviderMetadata | Error)[], options: Partial<ProviderOptions> = {}) {
  const events: DiscoveryEvent[] = [];
  const changes: ProviderMetadata[] = [];
  let asked = 0;
  const room = new Provider(
    { ...PROVIDER_OPTIONS, issuer: 'https://id.example', ...options },
    {
      listener: { discovered: event => void events.push(event) },
      ...{ ...thisMachine, random: () => 0 },
      changed: found => void changes.push(found),
      discover: async () => {
        const response = responses[Math.min(asked, responses.length - 1)];
        asked += 1;
        if (response === undefined || response instanceof Error) throw response;
        return response;
      },
    },
  );
  return { room, events, changes, asked: () => asked };
}

const down = new ProviderFault('unreachable', 'down');

test('the first good response makes it ready', async () => {
  const { room, events, changes } = provider([metadata()]);
  expect(room.ready).toBe(false);
  room.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(room.ready).toBe(true);
  expect(room.metadata).toEqual(metadata());
  expect(changes).toEqual([metadata()]);
  expect(events).toEqual([{ outcome: 'learnt', failures: 0, nextMs: 600_000, ready: true, cause: null }]);
});

test('a provider that throttles is left alone for as long as it says, one that fails is not', async () => {
  const answered = (status: number) => new ProviderFault('refused', 'no', { status, retryAfterMs: 120_000 });
  const { room, events } = provider([answered(429), answered(503), metadata()]);
  room.start();
  await vi.advanceTimersByTimeAsync(121_000);
  expect(events.map(({ nextMs }) => nextMs)).toEqual([120_000, 1_000, 600_000]);
});

test('an unreachable provider is retried at growing intervals', async () => {
  const { room, events, asked } = provider([down]);
  room.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked()).toBe(1);
  await vi.advanceTimersByTimeAsync(499);
  expect(asked()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked()).toBe(2);
  await vi.advanceTimersByTimeAsync(59_999);
  expect(events.map(({ nextMs }) => nextMs)).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000,
  ]);
  expect(events.at(-1)).toMatchObject({ outcome: 'failed', failures: 8, ready: false, cause: down });
});

test('while all is well it is asked once per period', async () => {
  const { room, events, asked, changes } = provider([metadata()], { refreshMs: 10_000 });
  room.start();
  await vi.advanceTimersByTimeAsync(0);
  const first = room.metadata;
  await vi.advanceTimersByTimeAsync(35_000);
  expect(asked()).toBe(4);
  expect(events.map(({ outcome }) => outcome)).toEqual(['learnt', 'confirmed', 'confirmed', 'confirmed']);
  expect(room.metadata).toBe(first);
  expect(changes).toHaveLength(1);
});

test('a failure changes nothing known and is soon retried', async () => {
  const { room, events } = provider([metadata(), down, down, metadata()], { refreshMs: 10_000 });
  room.start();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(events.at(-1)).toMatchObject({ outcome: 'failed', failures: 1, nextMs: 500, ready: true });
  expect(room.metadata).toEqual(metadata());
  await vi.advanceTimersByTimeAsync(1_500);
  expect(events.at(-1)).toMatchObject({ outcome: 'confirmed', failures: 0, nextMs: 10_000 });
});

test('other endpoints are announced and used', async () => {
  const moved = { ...metadata(), keySetUrl: 'https://id.example/other' };
  const { room, changes } = provider([metadata(), moved], { refreshMs: 10_000 });
  room.start();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(room.metadata).toBe(moved);
  expect(changes).toEqual([metadata(), moved]);
});

test('foreign errors do not reach the log', async () => {
  const { room, events } = provider([new SyntaxError('Unexpected token "marker"')]);
  room.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(String(events[0]?.cause)).toBe('ProviderFault: discovery failed in the gateway');
});

test('once stopped, it asks and learns nothing', async () => {
  const { room, events, asked } = provider([metadata()], { refreshMs: 1_000 });
  room.start();
  room.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked()).toBe(1);
  expect(room.ready).toBe(false);
  expect(events).toEqual([]);
});

test('endpoints that are all configured are known at once and for ever', () => {
  const three = { authorization: 'https://a/', token: 'https://t/', keySet: 'https://k/' };
  const endpoints = { ...PROVIDER_OPTIONS.endpoints, ...three };
  const { room, asked, changes } = provider([down], { endpoints });
  room.start();
  expect(room.ready).toBe(true);
  expect(changes).toHaveLength(1);
  vi.advanceTimersByTime(10_000_000);
  expect(asked()).toBe(0);
});
