import type { Bench } from '../bench.ts';
import { GRPC_HEADERS, GRPC_SERVICE, grpcStreams } from '../load/grpc.ts';
import { h2load } from '../load/h2load.ts';
import { compare } from '../measure/compare.ts';
import { PIPELINE } from '../peers/job.ts';
import { besideEnvoy, everyone, findingsOf, peakOfWeir, planOf, type Scenario } from './scenario.ts';

const MESSAGE_BYTES = 100;

const unary: Scenario = {
  id: 'grpc-unary',
  title: 'A unary RPC',
  meaning: 'One message there and one back, between services that know each other.',
  quick: false,
  async run(bench) {
    const plan = callOf(bench, 'Unary', 16);
    const comparison = await compare(bench, who(bench), plan, { generator: h2load(8) });
    return findingsOf(comparison, '100 bytes each way, 900-byte token, two limits, cleartext', [
      besideEnvoy(comparison, 0.8),
      peakOfWeir(comparison, 200),
    ]);
  },
};

const streamed: Scenario = {
  id: 'grpc-stream',
  title: 'A streamed message',
  meaning: 'A call that stays open: a message there and back. Neither token nor limits are looked at again.',
  quick: false,
  async run(bench) {
    const plan = callOf(bench, 'Bidi', 16);
    const comparison = await compare(bench, who(bench), plan, { generator: grpcStreams });
    return findingsOf(comparison, '100 bytes each way, 16 under way on each call, cleartext', [
      besideEnvoy(comparison, 0.9),
      peakOfWeir(comparison, 200),
    ]);
  },
};

function who(bench: Bench) {
  const job = { ...PIPELINE, clients: 'grpc' } as const;
  const without = ['http-proxy-3', 'Fastify'];
  return everyone(bench, job, { without, quick: ['Weir', 'Envoy', 'nginx', 'HAProxy'] });
}

function callOf(bench: Bench, method: string, connections: number) {
  const plan = planOf(bench, {
    method: 'POST',
    path: `/${GRPC_SERVICE}/${method}`,
    bodyBytes: MESSAGE_BYTES,
    connections,
  });
  return { ...plan, headers: { ...plan.headers, ...GRPC_HEADERS } };
}

export const grpc: readonly Scenario[] = [unary, streamed];
