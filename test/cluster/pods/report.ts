import type { Pod } from '../kubelet/pod.ts';
import type { SteadyLoad } from './steady-load.ts';

/** Prints what an operator would like to know of a change of pods: how long each step took, and what it cost clients. */
export function report(before: readonly Pod[], after: readonly Pod[], load: SteadyLoad): void {
  const begin = Math.min(...after.map(pod => at(pod, 'created')));
  const end = Math.max(...before.map(pod => at(pod, 'ended')));
  const lines = [
    `the change took ${ms(end - begin)}; ${load.responses} responses, ${load.lost.length} requests lost, ` +
      `${load.repeated} repeated after a GOAWAY`,
    ...after.map(
      pod =>
        `  ${pod.metadata.name}: init containers ${span(pod, 'created', 'initialised')}, ` +
        `start to ready ${span(pod, 'started', 'ready')}`,
    ),
    ...before.map(pod => `  ${pod.metadata.name}: deletion to end ${span(pod, 'deleted', 'ended')}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

type Step = Parameters<Pod['at']['get']>[0];

function at(pod: Pod, step: Step): number {
  return pod.at.get(step) ?? Number.NaN;
}

function span(pod: Pod, from: Step, to: Step): string {
  return ms(at(pod, to) - at(pod, from));
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
