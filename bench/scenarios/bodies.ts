import { compare } from '../measure/compare.ts';
import { PIPELINE } from '../peers/job.ts';
import { besideEnvoy, everyone, findingsOf, planOf, type Scenario } from './scenario.ts';

const KIB = 1024;

export const post: Scenario = {
  id: 'post-1k',
  title: 'POST of 1 KiB',
  meaning: 'Writing: a message, an order, a form.',
  quick: false,
  async run(bench) {
    const plan = planOf(bench, { method: 'POST', bodyBytes: KIB });
    const comparison = await compare(bench, everyone(bench, PIPELINE), plan);
    return findingsOf(comparison, 'POST of 1 KiB with a token, two limits, answered with 100 bytes');
  },
};

interface Size {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  readonly connections: number;
  /** Of Envoy's processor time. */
  readonly max: number | null;
  readonly meaning: string;
}

const SIZES: readonly Size[] = [
  { id: '4k', name: '4 KiB', bytes: 4 * KIB, connections: 64, max: null, meaning: 'A page of a list.' },
  {
    id: '64k',
    name: '64 KiB',
    bytes: 64 * KIB,
    connections: 64,
    max: 1,
    meaning: 'A large document, or a picture.',
  },
  { id: '1m', name: '1 MiB', bytes: KIB * KIB, connections: 16, max: 0.7, meaning: 'A file.' },
];

export const responses: readonly Scenario[] = SIZES.flatMap(size => [
  responseOf(size, 'bytes'),
  responseOf(size, 'chunked'),
]);

function responseOf(
  { id, name, bytes, connections, max, meaning }: Size,
  kind: 'bytes' | 'chunked',
): Scenario {
  const chunked = kind === 'chunked';
  return {
    id: chunked ? `response-${id}-chunked` : `response-${id}`,
    title: `Responses of ${name}${chunked ? ', chunked' : ''}`,
    meaning: chunked ? `${meaning} The service does not know its size beforehand.` : meaning,
    quick: id === '64k' && !chunked,
    async run(bench) {
      // Fastify's cost is that of Node's streams, which http-proxy-3 shows as well.
      const entrants = everyone(bench, PIPELINE, { without: ['Fastify'], quick: ['Weir', 'Envoy'] });
      const comparison = await compare(
        bench,
        entrants,
        planOf(bench, { path: `/v1/${kind}/${bytes}`, connections }),
      );
      return findingsOf(comparison, `GET with a token, two limits, answered with ${name}`, [
        besideEnvoy(comparison, max),
      ]);
    },
  };
}
