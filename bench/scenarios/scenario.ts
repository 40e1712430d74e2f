import type { Bench } from '../bench.ts';
import type { LoadPlan } from '../load/plan.ts';
import type { Comparison, Entrant } from '../measure/compare.ts';
import { PEERS } from '../peers/index.ts';
import type { Job } from '../peers/job.ts';
import { weirBefore } from '../peers/weir.ts';
import type { Aim, Result } from '../report/result.ts';

/** A situation of a gateway's user. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  /** What it means to a user, one or two sentences. */
  readonly meaning: string;
  readonly quick: boolean;
  run(bench: Bench): Promise<Findings>;
}

export type Findings = Pick<Result, 'how' | 'columns' | 'rows'> & Partial<Pick<Result, 'aims' | 'notes'>>;

export interface Who {
  readonly without?: readonly string[];
  /** The peers of quick runs: those that an aim is about. */
  readonly quick?: readonly string[];
}

/** The peers with one job, and the other checkout of Weir if there is one. */
export function everyone(bench: Bench, job: Job, { without = [], quick }: Who = {}): Entrant[] {
  const { mode, peers, before } = bench.settings;
  const all = before === null ? PEERS : [weirBefore(before), ...PEERS];
  return all
    .filter(({ name }) => !without.includes(name))
    .filter(({ name }) => name === 'Weir before' || peers === null || peers.includes(name))
    .filter(
      ({ name }) =>
        name === 'Weir before' ||
        peers !== null ||
        mode === 'full' ||
        quick === undefined ||
        quick.includes(name),
    )
    .map(peer => ({ name: peer.name, peer, job }));
}

/** A GET of 100 bytes with a known token over 64 connections, with changes. */
export function planOf(bench: Bench, changes: Partial<LoadPlan> = {}): LoadPlan {
  return {
    method: 'GET',
    secure: false,
    path: '/v1/things/7',
    bodyBytes: 0,
    headers: { Authorization: `Bearer ${bench.world.issuer.token('RS256')}` },
    connections: 64,
    expect: 'success',
    ...changes,
  };
}

/** How much dearer than another checkout a request may be: the spread of the figures, not a permission. */
const NO_DEARER = 1.03;
/** How much dearer the first second may be. */
const COLD_TO_WARM = 1.25;

export function findingsOf(comparison: Comparison, what: string, aims: readonly Aim[] = []) {
  const { how, columns, rows, notes } = comparison;
  const always = [
    { what: 'CPU, Weir to Weir before', max: NO_DEARER, figure: comparison.ratio('Weir', 'Weir before') },
    {
      what: 'CPU, Weir in its first second to warm',
      max: COLD_TO_WARM,
      figure: comparison.coldRatio('Weir'),
    },
  ];
  const measured = always.filter(({ figure }) => figure !== null);
  return { how: `${what}; ${how}`, columns, rows, aims: [...aims, ...measured], notes };
}

/** Weir next to Envoy. `max`: the aim; `null` for none. */
export function besideEnvoy(comparison: Comparison, max: number | null): Aim {
  return { what: 'CPU, Weir to Envoy', max, figure: comparison.ratio('Weir', 'Envoy') };
}

/** @param max the most memory that Weir may have used at any time, MiB */
export function peakOfWeir(comparison: Comparison, max: number): Aim {
  return { what: 'peak MiB, Weir', max, figure: comparison.peak('Weir') };
}
