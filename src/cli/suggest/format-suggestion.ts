import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CallerClass, LimitsText, QUOTA_KEYS, type QuotaChange } from '../../config/index.ts';
import { formatDuration } from '../../core/index.ts';
import {
  FEWEST_CALLERS,
  type SuggestedLimit,
  type SuggestedRestriction,
  type Suggestion,
} from '../../simulation/index.ts';
import { countOf, formatCount, logNotes, percent, sentences, table } from '../logs/index.ts';

/** The suggestion as a table, with notes below. */
export function formatSuggestion(suggestion: Suggestion): string {
  const { from, to, requests, limits } = suggestion;
  const head = `${countOf(requests, 'request', 'requests')} from ${from} to ${to}. Share of callers that never need more than:`;
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
    ...[`${now}/${period}`, percent(callersOverNow, callers)],
    suggested === null ? '-' : `${suggested}/${period}`,
  ];
}

const RULE_TITLES = ['RULE', 'BY', 'SENDERS', '50 %', '95 %', '99 %', '99.9 %', '100 %'];
const RULE_COLUMNS = [...RULE_TITLES, 'NOW', 'OVER IT', 'SUGGESTED'].map((title, at) => ({
  title,
  isNumber: at >= 2,
}));

/** The table of requests that count towards restrictions; '' if there were none. */
function restrictions({ restrictions: rules }: Suggestion): string {
  if (rules.length === 0) return '';
  const head = 'Share of senders of requests that count towards a restriction who never sent more than:';
  return `\n${head}\n\n${table(RULE_COLUMNS, rules.map(ruleCells))}`;
}

function ruleCells(restriction: SuggestedRestriction): string[] {
  const { rule, by, senders, needs, periodMs, now, sendersOverNow, suggested } = restriction;
  const period = formatDuration(periodMs);
  return [
    ...[rule, by],
    ...[senders, needs[50], needs[95], needs[99], needs['99.9'], needs[100]].map(countOrNone),
    ...[`${now}/${period}`, percent(sendersOverNow, senders)],
    suggested === null ? '-' : `${suggested}/${period}`,
  ];
}

function countOrNone(number: number | null): string {
  return number === null ? '-' : formatCount(number);
}

/** A note about the limits without a suggested number, because they have too few callers for the percentile. */
function tooFew({ limits, restrictions, percentile }: Suggestion): string[] {
  const few = FEWEST_CALLERS[percentile];
  const names = [
    ...limits.map(each => ({ ...each, name: `${each.bucket ?? 'global'}, ${each.class}`, of: each.callers })),
    ...restrictions
      .filter(({ by }) => by === 'address' || by === 'webhook')
      .map(each => ({ ...each, name: `${each.rule}, ${each.by}`, of: each.senders })),
  ].flatMap(({ name, of }) => (of < few ? [`${name} (${formatCount(of)})`] : []));
  if (names.length === 0) return [];
  return [
    `no number is suggested where fewer than ${formatCount(few)} callers were seen, too few to tell what ${percentile} % of them need: ${names.join('; ')}. A longer log has more callers; --percentile 100 takes the highest need`,
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
        `${limit.bucket ?? 'global'}, ${limit.class}: ${formatCount(limit.refused)} of ${countOf(limit.requests, 'request was', 'requests were')} refused; those count, but clients that were told to wait may have sent fewer`,
    ),
    ...(restrictions.length > 0
      ? [
          'The top senders of such requests may be attackers: look at the last columns before you use a number',
          ...(log.early > 0
            ? [
                'restrictions or blocks were active, so the highest numbers are too low: restricted senders could not send more',
              ]
            : []),
        ]
      : []),
    ...(unused.length > 0 && limits.length > 0 ? [`no request drew on ${unused.join(', ')}`] : []),
    ...(unmeasured > 0
      ? [
          `${countOf(unmeasured, 'request was', 'requests were')} not measured: there were more than a million callers or open windows`,
        ]
      : []),
    ...logNotes(log, unanswered),
  ]);
}

/** A file with the suggested numbers. Its name is '' if the limits are a single file. */
interface SuggestedFile {
  readonly name: string;
  readonly text: string;
}

export async function suggestedFiles(limits: string, suggestion: Suggestion): Promise<SuggestedFile[]> {
  const { from, to, requests, percentile, headroomPercent } = suggestion;
  const written = await LimitsText.read(limits);
  const placed = suggestion.limits.flatMap(limit => {
    const path = pathOf(limit, written);
    return path === null ? [] : [{ path, limit }];
  });
  // Several classes may share a quota: it must suffice for each class with enough callers.
  const changes = [...Map.groupBy(placed, ({ path }) => path.join('\0')).values()].flatMap(same => {
    const [most] = same.toSorted((a, b) => (b.limit.suggested ?? 0) - (a.limit.suggested ?? 0));
    return most === undefined ? [] : changeOf(most.path, most.limit, suggestion);
  });
  const rules = suggestion.restrictions.flatMap(each => changeOfRule(each, written, suggestion));
  const heading = `numbers for ${percentile} % of callers and ${headroomPercent} % more, from ${countOf(requests, 'request', 'requests')}, ${from} to ${to}`;
  return written.with([...changes, ...rules], [heading, ...unplaced(suggestion, written)]);
}

/** Comments with numbers for limits that the file does not write, because they apply by default. */
function unplaced({ limits, restrictions }: Suggestion, written: LimitsText): string[] {
  const missing = limits.filter(limit => pathOf(limit, written) === null);
  const rules = restrictions.filter(({ rule }) => !written.has([rule, 'limit']));
  const ofRules = rules.flatMap(({ rule, suggested, periodMs }) =>
    suggested === null
      ? []
      : [`${rule}.limit is not in this file; suggested: ${suggested}/${formatDuration(periodMs)}`],
  );
  const ofLimits = missing.flatMap(({ bucket, class: callerClass, suggested, periodMs }) => {
    if (suggested === null) return [];
    const key = bucket === null ? 'global' : `buckets.${bucket}`;
    return `${key}.${callerClass} is not in this file; suggested: ${suggested}/${formatDuration(periodMs)}`;
  });
  return [...ofLimits, ...ofRules];
}

/** Where the file has the quota of a class; `null` if the quota applies by default. */
function pathOf(limit: SuggestedLimit, written: LimitsText): readonly string[] | null {
  const keys = keysOf(limit);
  const within = limit.bucket === null ? ['global'] : ['buckets', limit.bucket];
  return keys.map(key => [...within, key]).find(path => written.has(path)) ?? null;
}

function keysOf({ bucket, class: callerClass }: SuggestedLimit): readonly (CallerClass | 'resource')[] {
  if (callerClass === 'resource' || bucket === null) return [callerClass];
  return QUOTA_KEYS[callerClass];
}

function changeOf(path: readonly string[], limit: SuggestedLimit, suggestion: Suggestion): QuotaChange[] {
  const { callers, class: callerClass, periodMs, needs, now, suggested: units } = limit;
  if (units === null) return [];
  const { percentile } = suggestion;
  const who = callerClass === 'resource' ? 'main values' : `callers of class ${callerClass}`;
  const why = `${path.at(-1)}: ${percentile} % of ${formatCount(callers)} ${who} need at most ${formatCount(needs[percentile] ?? 0)} in ${formatDuration(periodMs)}; was ${now}`;
  return [{ path, units, periodMs, why }];
}

function changeOfRule(
  { rule, by, periodMs, senders, needs, now, suggested: units }: SuggestedRestriction,
  written: LimitsText,
  { percentile, log }: Suggestion,
): QuotaChange[] {
  const path = [rule, 'limit'];
  if (units === null || !written.has(path)) return [];
  const who = by === 'webhook' ? 'addresses on a webhook' : 'addresses';
  const cut = log.early > 0 ? '; some were restricted or blocked, which cuts the highest numbers' : '';
  const why = `${rule}: ${percentile} % of the ${formatCount(senders)} ${who} that sent any sent at most ${formatCount(needs[percentile] ?? 0)} in ${formatDuration(periodMs)}; was ${now}${cut}`;
  return [{ path, units, periodMs, why }];
}

/** @param target the file, or the folder where there are several */
export async function writeFiles(target: string, files: readonly SuggestedFile[]): Promise<void> {
  if (files.some(({ name }) => name !== '')) await mkdir(target, { recursive: true });
  for (const { name, text } of files) await writeFile(name === '' ? target : join(target, name), text);
}
