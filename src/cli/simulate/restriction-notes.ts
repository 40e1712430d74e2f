import type { Report } from '../../simulation/index.ts';
import { countOf } from '../logs/index.ts';

/** What has to be known about the restrictions in a report. */
export function restrictionNotes({ inShadow, unknown, sparesCallers }: Report['restrictions']): string[] {
  const { callers, outcomes, moments } = unknown;
  return [
    ...(inShadow > 0
      ? [`${countOf(inShadow, 'restriction', 'restrictions')} would begin if the rules were not in shadow`]
      : []),
    ...(outcomes > 0
      ? [
          `${countOf(outcomes, 'request that was', 'requests that were')} refused before would be admitted: what the service would have answered is not known, and does not count as invalid`,
        ]
      : []),
    ...(callers > 0
      ? [
          `cannot be answered: ${countOf(callers, 'request that was', 'requests that were')} restricted or blocked before would not be after, but their tokens were not looked at`,
        ]
      : []),
    ...(sparesCallers
      ? [
          'callers under "never_restrict" cannot be tried: the log has their pseudonyms; those count who were spared when it was written',
        ]
      : []),
    ...(moments > 0
      ? [
          `${countOf(moments, 'request that ended with 401 or 403 is', 'requests that ended with 401 or 403 are')} of a version that did not log when that counted: taken to be when their lines were written; a 429 of a service does not count there, since its scope is not known`,
        ]
      : []),
  ];
}
