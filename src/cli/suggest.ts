import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LimitsText, type QuotaChange, quotaPaths } from '../config/index.ts';
import type { SuggestedLimit, SuggestedRestriction, Suggestion } from '../offline/simulation/index.ts';
import {
  FEWEST_CALLERS,
  measureLogs,
  PERCENTILES,
  panelsOf,
  renderNeeds,
  suggestLimits,
} from '../offline/simulation/index.ts';
import { oneOf, readArguments } from './arguments.ts';
import { type Command, type CommandOutput, ExitCode, UsageError } from './command.ts';
import { countOf, formatCount, logNotes, type Note, percent, sentences, table } from './log-report.ts';
import { readLogs, STORES, withoutDecisions } from './logs.ts';
import { asJson } from './output.ts';

export const command: Command = {
  help: `Suggests numbers for a limits.yaml from access logs: it measures how many units each caller needed in its busiest period,
per main value if a bucket has one. Routes, buckets and periods come from that limits.yaml. Refused requests count, too.

weir suggest --limits FILE LOG... [OPTIONS]

  --limits FILE   the limits.yaml to find numbers for, or a folder of such files
  LOG             access logs, of one gateway or of several; compressed by gzip or not
  --percentile P  the share of callers that should never be refused: ${PERCENTILES.join(', ')} (99)
  --headroom H    added to what they need, in percent (20)
  --store STORE   memory: each gateway counts alone; redis: all count together (memory)
  --format FORMAT text, json, or yaml: the limits.yaml with the numbers suggested (text)
  --write FILE    also writes that limits.yaml; for a folder of limits, names the folder to write to
  --svg FILE      also draws which share of callers needs more than a number, for each limit
  --help          show this text

Exit code: 0 done, 1 the logs cannot be read, 64 wrong command line, 78 the limits have errors.
`,
  async run(args, terminal) {
    const asked = read(args);
    const { limitsFile, logs, store, format, write, svg } = asked;
    return readLogs(
      { command: 'suggest', limitsFile, logs },
      terminal,
      (limits, onProgress) => measureLogs({ limits, logs, store, onProgress }),
      async (measured, { limits, patterns }) => {
        const suggestion = suggestLimits(measured, limits, patterns, asked);
        if (suggestion.requests === 0) return withoutDecisions('suggest', suggestion.log, terminal);
        const files = await suggestedFiles(limitsFile, suggestion);
        if (svg !== undefined) await writeFile(svg, renderNeeds(panelsOf(measured, suggestion)));
        if (write !== undefined) await writeFiles(write, files);
        if (format === 'yaml') return printYaml(files, terminal);
        terminal.out(format === 'json' ? asJson(suggestion) : formatSuggestion(suggestion));
        return ExitCode.ok;
      },
    );
  },
};

function printYaml(files: readonly { readonly text: string }[], terminal: CommandOutput): number {
  const [only, more] = files;
  if (only === undefined || more !== undefined)
    throw new UsageError('--format yaml takes one file of limits: name a folder by --write for several');
  terminal.out(only.text);
  return ExitCode.ok;
}

function read(args: readonly string[]) {
  const options = {
    limits: { type: 'string' },
    percentile: { type: 'string', default: '99' },
    headroom: { type: 'string', default: '20' },
    store: { type: 'string', default: 'memory' },
    format: { type: 'string', default: 'text' },
    write: { type: 'string' },
    svg: { type: 'string' },
  } as const;
  const { values, positionals: logs } = readArguments(args, options, ['LOG...']);
  const { limits: limitsFile, headroom, write, svg } = values;
  if (limitsFile === undefined)
    throw new UsageError('missing --limits: name the limits.yaml to find numbers for');
  const percentile = oneOf('--percentile', values.percentile.replace(/ ?%$/, ''), PERCENTILES);
  if (!/^\d{1,4} ?%?$/.test(headroom))
    throw new UsageError(`--headroom takes a whole number up to 9999, not "${headroom}"`);
  const store = oneOf('--store', values.store, STORES);
  const format = oneOf('--format', values.format, ['text', 'json', 'yaml']);
  const headroomPercent = Number.parseInt(headroom, 10);
  return { limitsFile, logs, percentile, headroomPercent, store, format, write, svg };
}

function formatSuggestion(suggestion: Suggestion): string {
  const { from, to, requests, limits } = suggestion;
  const head = `${countOf(requests, 'request', 'requests')} from ${from} to ${to}. Share of callers that never need more than:`;
  const rows = numberTable(['BUCKET', 'CLASS', 'CALLERS'], limits.map(cells));
  return `${head}\n\n${rows}${restrictions(suggestion)}${notes(suggestion)}`;
}

/** Formats a table with these columns before the numbers. The third one is a number as well. */
function numberTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const shares = PERCENTILES.map(percentile => `${percentile} %`);
  return table([...titles, ...shares, 'NOW', 'OVER IT', 'SUGGESTED'], rows, at => at >= 2);
}

function cells(limit: SuggestedLimit): string[] {
  const { bucket, class: callerClass, part, callers, callersOverNow } = limit;
  const who = part === null ? callerClass : `${callerClass} (${part})`;
  return [bucket ?? '(global)', who, ...numberCells(limit, callers, callersOverNow)];
}

/** The cells that both kinds of tables have. */
function numberCells(
  { needs, period, now, suggested }: SuggestedLimit | SuggestedRestriction,
  all: number,
  overNow: number,
): string[] {
  return [
    ...[all, ...PERCENTILES.map(percentile => needs[percentile])].map(countOrNone),
    ...[`${now}/${period}`, percent(overNow, all), suggested === null ? '-' : `${suggested}/${period}`],
  ];
}

/** The table of requests that count towards restrictions; '' if there were none. */
function restrictions({ restrictions: rules }: Suggestion): string {
  if (rules.length === 0) return '';
  const head = 'Share of senders of requests that count towards a restriction who never sent more than:';
  return `\n${head}\n\n${numberTable(['RULE', 'BY', 'SENDERS'], rules.map(ruleCells))}`;
}

function ruleCells(restriction: SuggestedRestriction): string[] {
  const { rule, by, senders, sendersOverNow } = restriction;
  return [rule, by, ...numberCells(restriction, senders, sendersOverNow)];
}

function countOrNone(number: number | null): string {
  return number === null ? '-' : formatCount(number);
}

/** Notes which limits have no suggested number, because they have too few callers for the percentile. */
function tooFew({ limits, restrictions, percentile }: Suggestion): Note {
  const few = FEWEST_CALLERS[percentile];
  const names = [
    ...limits.map(each => ({ ...each, name: nameOf(each), of: each.callers })),
    ...restrictions
      .filter(({ by }) => by === 'address' || by === 'webhook')
      .map(each => ({ ...each, name: `${each.rule}, ${each.by}`, of: each.senders })),
  ].flatMap(({ name, of }) => (of < few ? [`${name} (${formatCount(of)})`] : []));
  return (
    names.length > 0 &&
    `no number is suggested where fewer than ${formatCount(few)} callers were seen, too few to tell what ${percentile} % of them need: ${names.join('; ')}. A longer log has more callers; --percentile 100 takes the highest need`
  );
}

function notes(suggestion: Suggestion): string {
  const { limits, restrictions, unused, unmeasured, log, unanswered, percentile, headroomPercent } =
    suggestion;
  const refused = limits.filter(limit => limit.refused > 0);
  const hasNumbers = limits.some(({ suggested }) => suggested !== null);
  return sentences([
    hasNumbers && `Suggested: what ${percentile} % of callers need, and ${headroomPercent} % more`,
    tooFew(suggestion),
    ...limits.flatMap(limit => claimNotes(limit, limits)),
    ...refused.map(
      limit =>
        `${nameOf(limit)}: ${formatCount(limit.refused)} of ${countOf(limit.requests, 'request was', 'requests were')} refused; those count, but clients that were told to wait may have sent fewer`,
    ),
    restrictions.length > 0 &&
      'The top senders of such requests may be attackers: look at the last columns before you use a number',
    restrictions.length > 0 &&
      log.early > 0 &&
      'restrictions or blocks were active, so the highest numbers are too low: restricted senders could not send more',
    unused.length > 0 && limits.length > 0 && `no request drew on ${unused.join(', ')}`,
    unmeasured > 0 &&
      `${countOf(unmeasured, 'request was', 'requests were')} not measured: there were more than a million callers or open windows`,
    ...logNotes(log, unanswered),
  ]);
}

function nameOf({ bucket, class: callerClass, part, at, period }: SuggestedLimit): string {
  const who = part === null ? callerClass : `${callerClass} (${part})`;
  return `${bucket ?? 'global'}, ${who}${at === null ? '' : `, ${period}`}`;
}

/** Notes what the logs cannot show about the numbers next to a claim: each caller's own number is sold, and not measured. */
function claimNotes(limit: SuggestedLimit, limits: readonly SuggestedLimit[]): Note[] {
  const { bucket, class: callerClass, claim, part, highestSaid, suggested } = limit;
  if (part === null) return [];
  const isTold = limits.some(
    each => each.bucket === bucket && each.class === callerClass && each.part !== part,
  );
  if (part === 'otherwise')
    return [
      !isTold &&
        `${nameOf(limit)}: no token in the logs has a number in the claim ${claim}, so they show nothing about "max": it must allow the largest plan that you sell`,
    ];
  const cut = suggested !== null && highestSaid > suggested;
  return [
    `${nameOf(limit)}: tokens say up to ${formatCount(highestSaid)} in the claim ${claim}${cut ? ', more than the suggested max: keep what you sell' : ''}`,
    !isTold && `${nameOf(limit)}: every token has a number, so the logs show nothing about "otherwise"`,
  ];
}

/** A limits file with the suggested numbers. Its name is '' if the limits are a single file. */
interface SuggestedFile {
  readonly name: string;
  readonly text: string;
}

async function suggestedFiles(limits: string, suggestion: Suggestion): Promise<SuggestedFile[]> {
  const { from, to, requests, percentile, headroomPercent } = suggestion;
  const written = await LimitsText.read(limits);
  const placed = suggestion.limits.flatMap(limit => {
    const path = pathOf(limit, written);
    return path === null ? [] : [{ path, limit }];
  });
  // Take the highest number: several classes may share a quota, which must suffice for each of them.
  const changes = [...Map.groupBy(placed, ({ path }) => path.join('\0')).values()].flatMap(same => {
    const [most] = same.toSorted((a, b) => (b.limit.suggested ?? 0) - (a.limit.suggested ?? 0));
    return most === undefined ? [] : changeOf(most.path, most.limit, suggestion);
  });
  const rules = suggestion.restrictions.flatMap(each => changeOfRule(each, written, suggestion));
  const heading = `numbers for ${percentile} % of callers and ${headroomPercent} % more, from ${countOf(requests, 'request', 'requests')}, ${from} to ${to}`;
  return written.with([...changes, ...rules], [heading, ...unplaced(suggestion, written)]);
}

/** Comments that suggest numbers for limits which apply by default, so the file has no line for them. */
function unplaced({ limits, restrictions }: Suggestion, written: LimitsText): string[] {
  const missing = limits.filter(limit => pathOf(limit, written) === null);
  const rules = restrictions.filter(({ rule }) => !written.has([rule, 'limit']));
  const ofRules = rules.flatMap(({ rule, suggested, period }) =>
    suggested === null ? [] : [`${rule}.limit is not in this file; suggested: ${suggested}/${period}`],
  );
  const ofLimits = missing.flatMap(({ bucket, class: callerClass, suggested, period }) => {
    if (suggested === null) return [];
    const key = bucket === null ? 'global' : `buckets.${bucket}`;
    return `${key}.${callerClass} is not in this file; suggested: ${suggested}/${period}`;
  });
  return [...ofLimits, ...ofRules];
}

/** The path to the quota of a class in the file; `null` if the quota is a default. */
function pathOf(limit: SuggestedLimit, written: LimitsText): readonly string[] | null {
  const keys = keysOf(limit);
  const within = limit.bucket === null ? ['global'] : ['buckets', limit.bucket];
  const ofList = limit.at === null ? [] : [String(limit.at)];
  const of = limit.part === null ? ofList : [limit.part];
  const paths = keys.map(key => [...within, ...key, ...of]);
  // A quota of costs is a map.
  return paths.flatMap(path => [path, [...path, 'limit']]).find(path => written.has(path)) ?? null;
}

function keysOf({ bucket, class: name }: SuggestedLimit): readonly (readonly string[])[] {
  if (name === 'resource') return [['resource']];
  if (name === 'group') return [['group', 'limit']];
  return bucket === null ? quotaPaths(name).slice(0, 1) : quotaPaths(name);
}

/** Names for what was measured where it is not a class of callers. */
const GROUP_NAMES: Readonly<Record<string, string | undefined>> = {
  group: 'groups',
  resource: 'main values',
};

function changeOf(path: readonly string[], limit: SuggestedLimit, suggestion: Suggestion): QuotaChange[] {
  const { callers, class: callerClass, part, periodMs, period, needs, now, suggested: units } = limit;
  if (units === null) return [];
  const { percentile } = suggestion;
  const said =
    part === null ? '' : part === 'max' ? ' whose tokens have a number' : ' whose tokens have none';
  const who = GROUP_NAMES[callerClass] ?? `callers of class ${callerClass}${said}`;
  const key = path.findLast(each => !/^\d$/.test(each));
  const why = `${key}: ${percentile} % of ${formatCount(callers)} ${who} need at most ${formatCount(needs[percentile] ?? 0)} in ${period}; was ${now}`;
  return [{ path, units, periodMs, why }];
}

function changeOfRule(
  { rule, by, periodMs, period, senders, needs, now, suggested: units }: SuggestedRestriction,
  written: LimitsText,
  { percentile, log }: Suggestion,
): QuotaChange[] {
  const path = [rule, 'limit'];
  if (units === null || !written.has(path)) return [];
  const who = by === 'webhook' ? 'addresses on a webhook' : 'addresses';
  const cut = log.early > 0 ? '; some were restricted or blocked, which cuts the highest numbers' : '';
  const why = `${rule}: ${percentile} % of the ${formatCount(senders)} ${who} that sent any sent at most ${formatCount(needs[percentile] ?? 0)} in ${period}; was ${now}${cut}`;
  return [{ path, units, periodMs, why }];
}

/** @param target the file to write, or a folder if there are several files */
async function writeFiles(target: string, files: readonly SuggestedFile[]): Promise<void> {
  if (files.some(({ name }) => name !== '')) await mkdir(target, { recursive: true });
  for (const { name, text } of files) await writeFile(name === '' ? target : join(target, name), text);
}
