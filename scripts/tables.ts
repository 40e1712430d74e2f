// Writes the tables of the documents that follow from declarations in src/: `npm run tables`. A table stands between two comments,
// `<!-- NAME: npm run tables -->` and `<!-- end -->`, in any document. With --check it writes nothing and fails if a table is not up
// to date.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { CAP_COSTS, type CapCost, fullBytes, processBytes } from '../src/config/index.ts';
import { ACCESS_FIELDS } from '../src/core/index.ts';
import { METRICS, type MetricDeclaration } from '../src/observe/metrics/declarations.ts';
import * as reserved from '../src/wire/http/reserved-fields.ts';
import { type ProviderRow, ROWS } from '../test/providers/imitations/index.ts';
import { APPLICATIONS } from '../test/services/applications/index.ts';
import { ROOT } from './manifest.ts';

const TABLES: Readonly<Record<string, () => string>> = {
  'access log': accessLogTable,
  applications: applicationsTable,
  'cap costs': capCostsTable,
  metrics: metricsTable,
  providers: providersTable,
  'provider configurations': () => ROWS.map(configurationOf).join('\n\n'),
  'caller fields': () => reservedTable(reserved.CALLER_CLAIMS),
  'origin fields': () => reservedTable(reserved.ORIGIN_CLAIMS),
  'internal fields': () => reservedTable(reserved.INTERNAL),
  'override fields': () => reservedTable(reserved.OVERRIDES),
};
const PLACE = /(<!-- ([\w ]+): npm run tables -->\n\n).*?(\n\n<!-- end -->)/gs;

/** YAML in one line. */
const FLOW = { collectionStyle: 'flow', lineWidth: 0 } as const;

const isCheck = process.argv.includes('--check');
const docs = join(ROOT, 'docs');
const written = new Set<string>();
for (const name of readdirSync(docs).filter(each => each.endsWith('.md'))) update(name);
const homeless = Object.keys(TABLES).filter(name => !written.has(name));
if (homeless.length > 0) fail(`no document has a place for: ${homeless.join(', ')}`);

function update(name: string): void {
  const path = join(docs, name);
  const present = readFileSync(path, 'utf8');
  const text = present.replace(PLACE, (whole, begin: string, table: string, end: string) => {
    written.add(table);
    const make = TABLES[table];
    if (make === undefined) fail(`docs/${name} has a place for "${table}", which is no table`);
    return make === undefined ? whole : `${begin}${make()}${end}`;
  });
  if (present === text) return;
  if (isCheck) fail(`docs/${name} is not up to date: npm run tables`);
  else writeFileSync(path, text);
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}

function applicationsTable(): string {
  const rows = APPLICATIONS.map(({ name, usedBy, upstream, route, grpc, nginx: [beside] = ['the same'] }) => {
    const keys = Object.entries({ upstream: grpc ? { ...upstream, protocol: 'grpc' } : upstream, route });
    const told = keys.flatMap(([where, part]) =>
      part === undefined ? [] : [`\`${stringify(part, FLOW).trim().slice(2, -2)}\` of the ${where}`],
    );
    if (grpc !== undefined) told.push(`routes with ${grpc.map(each => `\`grpc: ${each}/*\``).join(', ')}`);
    return `| ${name} | ${usedBy} | ${told.join(', ') || 'none'} | the same | ${beside} |`;
  });
  return [
    '| Application | Used by | Keys that it needs | Through Weir | Through nginx |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function accessLogTable(): string {
  const rows = Object.entries(ACCESS_FIELDS).map(
    ([name, { holds, text }]) => `| \`${name}\` | ${holdsInWords(holds)} | ${text} |`,
  );
  return ['| Field | Holds | |', '|---|---|---|', ...rows].join('\n');
}

function holdsInWords(holds: (typeof ACCESS_FIELDS)[keyof typeof ACCESS_FIELDS]['holds']): string {
  const { type } = holds;
  const words = 'words' in holds ? holds.words.map(word => `\`${word}\``).join(', ') : '';
  if (type === 'array') return `a list of ${words}`;
  if (words !== '') return words;
  if ('values' in holds) return holds.values === 'string' ? 'texts by name' : 'integers by name';
  if (type === 'boolean') return '`true`';
  if (type === 'string') return 'format' in holds ? 'ISO 8601' : 'text';
  return typeof type === 'string' ? type : type.join(' or ').replace('string', 'text');
}

function reservedTable(lists: readonly reserved.ReservedFields[]): string {
  const rows = lists.map(({ by, tells, names }) => {
    return `| ${names.map(name => `\`${name}\``).join(', ')} | ${by} | ${tells} |`;
  });
  return ['| Fields | Known from | What a service would believe |', '|---|---|---|', ...rows].join('\n');
}

function providersTable(): string {
  const rows = ROWS.map(({ name, told, real = 'an imitation' }) => {
    const anchor = name
      .toLowerCase()
      .replace(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-');
    return `| [${name}](provider-configurations.md#${anchor}) | ${told} | ${real} |`;
  });
  return [
    '| Works, as configured there | What the provider must be told | Tried against |',
    '|---|---|---|',
    ...rows,
  ].join('\n');
}

function configurationOf({ name, config, sources }: ProviderRow): string {
  const pages = sources.map(source => (source.startsWith('https://') ? `<${source}>` : source)).join(', ');
  const yaml = `\`\`\`yaml\n# gateway.yaml, in addition\n${config}\n\`\`\``;
  return `## ${name}\n\n${yaml}\n\nFrom ${pages}.`;
}

function capCostsTable(): string {
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed();
  const rows = Object.values<CapCost>(CAP_COSTS).map(({ key, one, most, bytes }) => {
    const each = [1, 2].map(workers => inKib(bytes(workers)));
    const size = each[0] === each[1] ? each[0] : `${each[0]}, with two workers ${each[1]}`;
    const all = [1, 2].map(workers => mib(most * bytes(workers)));
    return `| \`${key}\` | ${one} | ${size} | ${most.toLocaleString('en')} | ${all.join(' | ')} |`;
  });
  const sums = [1, 2].map(workers => `**${mib(fullBytes(workers))}**`);
  const rest = [1, 2].map(workers => mib(processBytes(workers)));
  return [
    '| Cap | One | takes | Full number | MiB | with two workers |',
    '|---|---|---|--:|--:|--:|',
    ...rows,
    `| **all of them** | | | | ${sums.join(' | ')} |`,
    `| the process | with one or two workers | | | ${rest.join(' | ')} |`,
  ].join('\n');
}

function inKib(bytes: number): string {
  return bytes < 1_024 ? `${bytes} B` : `${bytes / 1_024} KiB`;
}

function metricsTable(): string {
  const rows = Object.entries<MetricDeclaration>(METRICS).map(([name, { help, labels = {}, more = '' }]) => {
    const labelled = Object.entries(labels).map(([label, values]) => {
      const text = typeof values === 'string' ? values : values.map(value => `\`${value}\``).join(', ');
      return `\`${label}\`: ${text}`;
    });
    return `| \`${name}\` | ${labelled.join('<br>')} | ${`${help} ${more}`.trim()} |`;
  });
  return ['| Metric | Labels | |', '|---|---|---|', ...rows].join('\n');
}
