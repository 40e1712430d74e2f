import { cellText } from './numbers.ts';
import type { Report, Result } from './result.ts';
import { aimText } from './text.ts';

const BEGIN = '<!-- results: written by npm run bench -->';
const END = '<!-- end of results -->';

/** Puts a report between the markers of a document. */
export function withResults(document: string, report: Report): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the document lacks "${BEGIN}" and "${END}"`);
  return `${document.slice(0, begin + BEGIN.length)}\n\n${markdownOf(report)}\n${document.slice(end)}`;
}

function markdownOf(report: Report): string {
  const { processor, cores, memoryGib, system, loadAverage } = report.machine;
  const versions = Object.entries(report.versions).map(
    ([name, version]) => `${name} ${version ?? '(not installed)'}`,
  );
  return [
    `${report.date.slice(0, 10)}, ${cores} × ${processor}, ${memoryGib} GiB, ${system}. ${versions.join(', ')}.`,
    '',
    ...(report.mode === 'quick'
      ? ['**From a quick run**: few scenarios, short rounds. It shows the order of things and no more.', '']
      : []),
    `${busyness(report, cores)} The load average was ${loadAverage.toFixed(1)} before the first scenario.`,
    '',
    ...report.results.map(result => sectionOf(result, report)),
  ].join('\n');
}

/** Load generator, gateway and upstream alone keep two processors busy; any more load is from something else. */
function busyness({ date, results }: Report, cores: number): string {
  // Those measured later tell their own.
  const all = results.filter(result => !(result.date > date)).flatMap(({ loadAverages }) => loadAverages);
  const verdict =
    Math.max(...all) > cores * 2
      ? '**The machine was not quiet**: others used its processors meanwhile, so read the spread before the median.'
      : 'The machine was quiet.';
  return `${verdict} Load average before the rounds: ${rangeText(all)}.`;
}

function rangeText(all: readonly number[]): string {
  return `${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)}`;
}

/** Scenarios without rounds note no load. */
function loadText(loadAverages: readonly number[]): string {
  return loadAverages.length === 0 ? '' : `, load average ${rangeText(loadAverages)}`;
}

function sectionOf(
  { id, date, title, meaning, how, columns, rows, aims, notes, loadAverages }: Result,
  report: Report,
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const chart = columns[0]?.id === 'cpu' && rows.length > 0 ? [`![${title}](results/${id}.svg)`, ''] : [];
  const table = [
    line(['', ...columns.map(column => column.label)]),
    `|---|${columns.map(() => '--:').join('|')}|`,
    ...rows.map(({ name, figures }) =>
      line([name, ...columns.map(column => cellText(figures[column.id], column))]),
    ),
    '',
  ];
  const later =
    date > report.date
      ? [`Measured by itself, later: ${date.slice(0, 16).replace('T', ' ')} UTC${loadText(loadAverages)}.`]
      : [];
  const leftOut = rows.filter(({ note }) => note).map(({ name, note }) => `${name}: ${note}.`);
  return [
    `### ${title}`,
    '',
    `${meaning} (${how}.)`,
    '',
    ...chart,
    ...(rows.length === 0 ? [] : table),
    ...[...aims.map(aimText), ...leftOut, ...notes, ...later].map(text => `- ${text}`),
    '',
  ].join('\n');
}
