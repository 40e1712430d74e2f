import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CallerClass, LimitsText, QUOTA_KEYS, type QuotaChange } from '../../config/index.ts';
import { formatDuration } from '../../core/index.ts';
import type { SuggestedLimit, SuggestedRestriction, Suggestion } from '../../simulation/index.ts';
import { count, countOf } from '../logs/index.ts';

/** A file with the numbers suggested. The name is '' where the limits are a single file. */
export interface SuggestedFile {
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
  // Several classes may share a quota: it has to suffice for each that has enough callers to tell.
  const changes = [...Map.groupBy(placed, ({ path }) => path.join('\0')).values()].flatMap(same => {
    const [most] = same.toSorted((a, b) => (b.limit.suggested ?? 0) - (a.limit.suggested ?? 0));
    return most === undefined ? [] : changeOf(most.path, most.limit, suggestion);
  });
  const rules = suggestion.restrictions.flatMap(each => changeOfRule(each, written, suggestion));
  const heading = `numbers for ${percentile} % of callers and ${headroomPercent} % more, from ${countOf(requests, 'request', 'requests')}, ${from} to ${to}`;
  return written.with([...changes, ...rules], [heading, ...unplaced(suggestion, written)]);
}

/** Numbers for limits that apply by default. */
function unplaced({ limits, restrictions }: Suggestion, written: LimitsText): string[] {
  const missing = limits.filter(limit => pathOf(limit, written) === null);
  const rules = restrictions.filter(({ rule }) => !written.has([rule, 'limit']));
  const ofRules = rules.flatMap(({ rule, suggested, periodMs }) =>
    suggested === null
      ? []
      : [`${rule}.limit is not written here; ${suggested}/${formatDuration(periodMs)} would do`],
  );
  const ofLimits = missing.flatMap(({ bucket, class: callerClass, suggested, periodMs }) => {
    if (suggested === null) return [];
    const key = bucket === null ? 'global' : `buckets.${bucket}`;
    return `${key}.${callerClass} is not written here; ${suggested}/${formatDuration(periodMs)} would do`;
  });
  return [...ofLimits, ...ofRules];
}

/** Where the quota of a class is written; null: it applies by default. */
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
  const why = `${path.at(-1)}: ${percentile} % of ${count(callers)} ${who} need at most ${count(needs[percentile] ?? 0)} in ${formatDuration(periodMs)}; was ${now}`;
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
  const why = `${rule}: ${percentile} % of the ${count(senders)} ${who} that sent any sent at most ${count(needs[percentile] ?? 0)} in ${formatDuration(periodMs)}; was ${now}${cut}`;
  return [{ path, units, periodMs, why }];
}

/** @param target the file, or the folder where there are several */
export async function writeFiles(target: string, files: readonly SuggestedFile[]): Promise<void> {
  if (files.some(({ name }) => name !== '')) await mkdir(target, { recursive: true });
  for (const { name, text } of files) await writeFile(name === '' ? target : join(target, name), text);
}
