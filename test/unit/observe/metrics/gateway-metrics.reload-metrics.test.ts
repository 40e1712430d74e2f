import { expect, test } from 'vitest';
import { reloadMetrics } from '../../../../src/observe/metrics/gateway-metrics.ts';
import { MetricSet } from '../../../../src/observe/metrics/metric-set.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const STARTED_MS = 1_700_000_000_000;

test('the hash in force has one series, with the time when it came into force', async () => {
  const set = new MetricSet();
  const clock = new FrozenClock(STARTED_MS);
  const metrics = reloadMetrics(set, clock);
  const shown = async () =>
    (await set.registry.metrics()).split('\n').filter(line => /^weir_config_(info|applied)/.test(line));
  const at = (ms: number) => expect.stringContaining(`timestamp_seconds ${(STARTED_MS + ms) / 1_000}`);

  metrics.started({ generation: 1, hash: 'aa', needsRestart: [] });
  const first = [at(0), 'weir_config_info{hash="aa",generation="1"} 1'];
  expect(await shown()).toEqual(first);

  clock.advance(60_000);
  metrics.refused();
  metrics.unchanged();
  metrics.waiting();
  expect(await shown()).toEqual(first);

  metrics.applied({ generation: 2, hash: 'bb', needsRestart: [] });
  expect(await shown()).toEqual([at(60_000), 'weir_config_info{hash="bb",generation="2"} 1']);
});
