import { compare } from '../measure/compare.ts';
import { FORWARDING, PIPELINE } from '../peers/job.ts';
import { besideEnvoy, everyone, findingsOf, peakOfWeir, planOf, type Scenario } from './scenario.ts';

export const pipeline: Scenario = {
  id: 'pipeline',
  title: 'The whole gateway',
  meaning:
    'Every request brings a token that was seen before and draws on two limits, as in daily operation. This is what the processors of a gateway are bought for.',
  quick: true,
  async run(bench) {
    const comparison = await compare(
      bench,
      everyone(bench, PIPELINE, { quick: ['Weir', 'Envoy', 'nginx', 'http-proxy-3'] }),
      planOf(bench),
      {
        latency: bench.settings.mode === 'full',
      },
    );
    return findingsOf(comparison, 'GET, 100 bytes, 900-byte token, two limits, no access log', [
      besideEnvoy(comparison, 0.5),
      peakOfWeir(comparison, 170),
      { what: 'CPU, Weir to nginx', max: 1.1, figure: comparison.ratio('Weir', 'nginx') },
      { what: 'CPU, Weir to http-proxy-3', max: 0.35, figure: comparison.ratio('Weir', 'http-proxy-3') },
    ]);
  },
};

export const forwarding: Scenario = {
  id: 'forwarding',
  title: 'Forwarding alone',
  meaning: 'No token, no limit: what it costs to have anything in between at all.',
  quick: true,
  async run(bench) {
    const comparison = await compare(
      bench,
      everyone(bench, FORWARDING, { quick: ['Weir', 'http-proxy-3'] }),
      planOf(bench),
    );
    return findingsOf(comparison, 'GET, 100 bytes', [
      { what: 'CPU, Weir to http-proxy-3', max: 0.6, figure: comparison.ratio('Weir', 'http-proxy-3') },
    ]);
  },
};
