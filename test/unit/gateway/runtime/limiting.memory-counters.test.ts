import { beforeEach, describe, expect, test } from 'vitest';
import { consumptionOf, type LimitsModel, loadConfig } from '../../../../src/config/index.ts';
import { followLimits, memoryCounters } from '../../../../src/gateway/runtime/index.ts';
import type { Decision, MemoryStore } from '../../../../src/limits/index.ts';
import { addressKey } from '../../../../src/wire/http/index.ts';
import { writeGatewayConfig } from '../../../support/gateway.ts';
import { runs } from '../../../support/runs.ts';
import { tempText } from '../../../support/temp.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const MAX_KEYS = runs(50_000, 15_000);
/** The same in each run. */
const randomBytes = (size: number): Buffer => Buffer.alloc(size, 1);
const LIMITS = `
global: { user: 50/1s, address: 20/1s }
buckets:
  attacked: { main: id, resource: 1/1h, user: 100/1h, scope: user }
  beside: { main: id, resource: 9/1m, user: 3/1m, scope: user }
  plain: { user: 5/1m, shadow: { user: 2/1m } }
routes:
  /attacked/{id}: attacked
  /beside/{id}: beside
  /plain: plain
`;

const CLASS_LIMITS = `
global: off
buckets: { partners: { classes: { partner: 5/1m } } }
routes: { /partners: partners }
`;
const PROVIDER = {
  identity_provider: {
    issuer: 'https://login.example',
    endpoints: { key_set: 'https://login.example/certs' },
  },
};

let model: LimitsModel;
const clock = new FrozenClock();

beforeEach(async () => {
  const limits = await tempText('limits.yaml', LIMITS);
  const path = await writeGatewayConfig({ upstreamPort: 1, config: { limits } });
  const loaded = await loadConfig(path, { env: {}, generation: 1 });
  if (!loaded.ok) throw new Error('the configuration is wrong');
  model = loaded.snapshot.limits;
});

function newCounters(): MemoryStore {
  const counters = memoryCounters({ clock, randomBytes, maxKeys: MAX_KEYS });
  followLimits(counters, model);
  return counters;
}

function ask(counters: MemoryStore, caller: string, path: string): Decision {
  const callerClass = caller.startsWith('user:') ? 'user' : 'address';
  const consumption = consumptionOf(model, {
    method: 'GET',
    host: '',
    path,
    callerClass,
    caller,
    claimed: null,
    consumes: 'all',
  });
  if (consumption === null) throw new Error('it consumes nothing');
  return { ...counters.decide(consumption.set, consumption.caller, consumption.main) };
}

/** What strangers ask for: everything that the attacker did not, and the bucket that it floods, too. */
function asksOfStrangers(): readonly (readonly [caller: string, path: string])[] {
  const paths = ['/', '/plain', '/beside/1', '/beside/2', '/attacked/mine', '/attacked/ours'];
  const strangers = Array.from({ length: 300 }, (_, i) => [
    `user:web stranger${i}`,
    `198.51.${i % 256}.${i}`,
  ]);
  return strangers
    .flat()
    .flatMap((caller, i) =>
      paths.map(path => [caller, `${path}${path.startsWith('/attacked') ? i : ''}`] as const),
    );
}

describe('a flood of main values against a resource limit', () => {
  test('by all of one /56 changes no decision about anyone else, in any bucket', () => {
    const [attacked, untouched] = [newCounters(), newCounters()];
    for (let i = 0; i < 3 * MAX_KEYS; i++) {
      const group = (i % 256).toString(16).padStart(2, '0');
      ask(attacked, addressKey(`2001:db8:7:ab${group}::1`), `/attacked/flood${i}`);
      if (i % 1_000 === 0) clock.advance(1_000);
    }
    for (const [caller, path] of asksOfStrangers())
      expect(ask(attacked, caller, path)).toEqual(ask(untouched, caller, path));
    // Only counters of its own gave way to its further ones.
    expect(attacked.counts.sharedOverflows).toBe(0);
    expect(attacked.counts.keys).toBeLessThan(MAX_KEYS / 2);
  });

  test('by one user stays within the main values that a caller may hold', () => {
    const counters = newCounters();
    for (let i = 0; i < MAX_KEYS; i++) ask(counters, 'user:web mallory', `/attacked/flood${i}`);
    // With its global counter, and those of its further main values.
    expect(counters.counts.keys).toBeLessThanOrEqual(4_096 + 3);
  });

  test('from everywhere changes no decision in another bucket, nor that of the global limit', () => {
    const [attacked, untouched] = [newCounters(), newCounters()];
    for (let i = 0; i < 3 * MAX_KEYS; i++) {
      ask(attacked, `user:bots ${i % 200}`, `/attacked/flood${i}`);
      if (i % 200 === 0) clock.advance(1_000);
    }
    expect(attacked.counts.sharedOverflows).toBeGreaterThan(0);
    for (const [caller, path] of asksOfStrangers())
      if (!path.startsWith('/attacked'))
        expect(ask(attacked, caller, path)).toEqual(ask(untouched, caller, path));
  });
});

test('a bucket that limits a class of gateway.yaml alone has room of its own', async () => {
  const limits = await tempText('limits.yaml', CLASS_LIMITS);
  const access_tokens = { audience: 'api', classes: { partner: { claim: 'plan', value: 'partner' } } };
  const path = await writeGatewayConfig({ upstreamPort: 1, config: { limits, access_tokens, ...PROVIDER } });
  const loaded = await loadConfig(path, { env: {}, generation: 1 });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const counters = memoryCounters({ clock, randomBytes, maxKeys: MAX_KEYS });
  followLimits(counters, loaded.snapshot.limits);
  expect(counters.counts.partitions.map(({ bucket }) => bucket)).toEqual(['partners']);
});
