import { readFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { judge, outcomeOf } from '../../bench/wire/outcome.ts';
import { RecordingService } from '../../bench/wire/recording-service.ts';
import { GROUPS } from '../../bench/wire/vectors.ts';
import { startGateway } from '../support/gateway.ts';

// The same bytes go through other gateways by "npm run compare:wire", which writes docs/comparison.md.

describe.each(GROUPS)('$title', ({ vectors }) => {
  test('hostile ones do no harm at the service, and valid ones arrive', async () => {
    const service = await RecordingService.start();
    onTestFinished(() => service.stop());
    const caps = { requests_per_address: 1_000 };
    const gateway = await startGateway({ upstreamPort: service.port, config: { caps } });
    for (const vector of vectors) {
      const { judgement } = await outcomeOf(vector, gateway.port, service);
      const sound = vector.harm === null ? ['passed'] : ['refused', 'repaired'];
      expect(sound, vector.name).toContain(judgement);
    }
  });

  test('the comparison with other gateways has a row for each', async () => {
    const page = await readFile('docs/comparison.md', 'utf8');
    for (const { name, source } of vectors) expect(page).toContain(`| ${name} | ${source} |`);
  });
});

test.each(GROUPS.flatMap(({ vectors }) => vectors))('what no gateway stops is seen: $name', vector => {
  expect(judge(vector, vector.bytes)).toBe(vector.harm === null ? 'passed' : 'let through');
});
