import { formatDuration } from '../../core/index.ts';
import {
  FEWEST_CALLERS,
  type SuggestedLimit,
  type SuggestedRestriction,
  type Suggestion,
} from '../../simulation/index.ts';
import { count, countOf, logNotes, sentences, share, table } from '../logs/index.ts';

/** The suggestion as a table, and what has to be known about it below. */
export function formatSuggestion(suggestion: Suggestion): string {
  const { from, to, requests, limits } = suggestion;
  const head = `${countOf(requests, 'request', 'requests')} from ${from} to ${to}. So many percent of callers never need more than:`;
  return `${head}\n\n${table(COLUMNS, limits.map(cells))}${restrictions(suggestion)}${notes(suggestion)}`;
}

const TITLES = ['BUCKET', 'CLASS', 'CALLERS', '50 %', '95 %', '99 %', '99.9 %', '100 %'];
const COLUMNS = [...TITLES, 'NOW', 'OVER IT', 'SUGGESTED'].map((title, at) => ({ title, isNumber: at >= 2 }));

function cells(limit: SuggestedLimit): string[] {
  const { bucket, class: callerClass, callers, needs, periodMs, now, callersOverNow, suggested } = limit;
  const period = formatDuration(periodMs);
  return [
    bucket ?? '(global)',
    callerClass,
    ...[callers, needs[50], needs[95], needs[99], needs['99.9'], needs[100]].map(countOrNone),
    ...[`${now}/${period}`, share(callersOverNow, callers)],
    suggested === null ? '-' : `${suggested}/${period}`,
  ];
}

const RULE_TITLES = ['RULE', 'BY', 'SENDERS', '50 %', '95 %', '99 %', '99.9 %', '100 %'];
const RULE_COLUMNS = [...RULE_TITLES, 'NOW', 'OVER IT', 'SUGGESTED'].map((title, at) => ({
  title,
  isNumber: at >= 2,
}));

/** What counts towards restrictions; '' if nothing did. */
function restrictions({ restrictions: rules }: Suggestion): string {
  if (rules.length === 0) return '';
  const head = 'Of those who sent any that count towards a restriction, so many percent never sent more:';
  return `\n${head}\n\n${table(RULE_COLUMNS, rules.map(ruleCells))}`;
}

function ruleCells(restriction: SuggestedRestriction): string[] {
  const { rule, by, senders, needs, periodMs, now, sendersOverNow, suggested } = restriction;
  const period = formatDuration(periodMs);
  return [
    ...[rule, by],
    ...[senders, needs[50], needs[95], needs[99], needs['99.9'], needs[100]].map(countOrNone),
    ...[`${now}/${period}`, share(sendersOverNow, senders)],
    suggested === null ? '-' : `${suggested}/${period}`,
  ];
}

function countOrNone(number: number | null): string {
  return number === null ? '-' : count(number);
}

/** The limits without a number, since they have too few callers for the percentile. */
function tooFew({ limits, restrictions, percentile }: Suggestion): string[] {
  const few = FEWEST_CALLERS[percentile];
  const names = [
    ...limits.map(each => ({ ...each, name: `${each.bucket ?? 'global'}, ${each.class}`, of: each.callers })),
    ...restrictions
      .filter(({ by }) => by === 'address' || by === 'webhook')
      .map(each => ({ ...each, name: `${each.rule}, ${each.by}`, of: each.senders })),
  ].flatMap(({ name, of }) => (of < few ? [`${name} (${count(of)})`] : []));
  if (names.length === 0) return [];
  return [
    `too few to tell what ${percentile} % of them need, for which ${count(few)} are needed, so no number is suggested: ${names.join('; ')}. A longer log has more; --percentile 100 takes the one who needs most`,
  ];
}

function notes(suggestion: Suggestion): string {
  const { limits, restrictions, unused, unmeasured, log, unanswered, percentile, headroomPercent } =
    suggestion;
  const refused = limits.filter(limit => limit.refused > 0);
  const hasNumbers = limits.some(({ suggested }) => suggested !== null);
  return sentences([
    ...(hasNumbers ? [`Suggested: what ${percentile} % of callers need, and ${headroomPercent} % more`] : []),
    ...tooFew(suggestion),
    ...refused.map(
      limit =>
        `${limit.bucket ?? 'global'}, ${limit.class}: ${count(limit.refused)} of ${countOf(limit.requests, 'request was', 'requests were')} refused; those count, but clients that were told to wait may have sent fewer`,
    ),
    ...(restrictions.length > 0
      ? [
          'Senders of such requests may be the ones to restrict: look at the last ones before you take a number over',
          ...(log.early > 0
            ? [
                'restrictions or blocks were active, so what their senders would have sent is missing: the highest numbers are too low',
              ]
            : []),
        ]
      : []),
    ...(unused.length > 0 && limits.length > 0 ? [`no request drew on ${unused.join(', ')}`] : []),
    ...(unmeasured > 0
      ? [
          `${countOf(unmeasured, 'draw was', 'draws were')} not measured: beyond a million callers or a million open windows`,
        ]
      : []),
    ...logNotes(log, unanswered),
  ]);
}
