// Prints how easy it is to find one's way in src/: `npm run house`. These are figures, not rules: `npm run lint` checks the rules.
//   --list   also names the files: fragments, and those that one request runs through
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { argv } from 'node:process';
import { requestFiles, servedFiles } from './request-files.ts';

const ROOT = join(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');
/** A file of at most so many lines is a fragment where one file alone, of its own folder, imports it. */
const FRAGMENT_LINES = 25;
const LONG_LINES = 300;

/** One source file, with what of it is not code. */
interface Source {
  /** From the root of the project: `src/core/clock.ts`. */
  readonly path: string;
  readonly lines: number;
  readonly codeLines: number;
  /** Physical lines of imports and of exports from elsewhere. */
  readonly importLines: number;
  /** The files that it imports or exports from. */
  readonly imports: readonly string[];
}

const IMPORT = /^(?:import|export)\b(?:[^;'"]*?\bfrom)?\s*'([^']+)'[^;]*;/gm;
const DYNAMIC = /\bimport\('(\.[^']+)'\)/g;

function readSource(file: string): Source {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n').slice(0, -1);
  const imports: string[] = [];
  let importLines = 0;
  for (const [statement, name = ''] of text.matchAll(IMPORT)) {
    importLines += statement.split('\n').length;
    if (name.startsWith('.')) imports.push(join(dirname(file), name));
  }
  for (const [, name = ''] of text.matchAll(DYNAMIC)) imports.push(join(dirname(file), name));
  // Biome formats the sources, so a comment of several lines has `*` before each of them, and none stands before code.
  const codeLines = lines.filter(line => !/^\s*(?:$|\/\/|\/\*|\*(?:\/|\s|$))/.test(line)).length;
  return { path: relative(ROOT, file), lines: lines.length, codeLines, importLines, imports };
}

function readSources(): readonly Source[] {
  const names = readdirSync(SRC, { recursive: true, encoding: 'utf8' });
  return names.filter(name => name.endsWith('.ts')).map(name => readSource(join(SRC, name)));
}

/** Short files with one importer, in their own folder. A door (index.ts) is no fragment, but counts as an importer. */
function fragments(sources: readonly Source[]): readonly Source[] {
  const importers = new Map<string, string[]>();
  for (const { path, imports } of sources)
    for (const file of imports) {
      const name = relative(ROOT, file);
      importers.set(name, [...(importers.get(name) ?? []), path]);
    }
  return sources.filter(({ path, lines }) => {
    const users = importers.get(path) ?? [];
    const [user = '', ...others] = users;
    const alone = others.length === 0 && dirname(user) === dirname(path);
    return alone && lines <= FRAGMENT_LINES && !path.endsWith('/index.ts');
  });
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const withList = argv.includes('--list');
const sources = readSources();
const short = fragments(sources);
const onTheWay = await requestFiles(ROOT);
const served = await servedFiles(ROOT);
const linesOf = new Map(sources.map(({ path, lines }) => [path, lines]));

const figures: readonly (readonly [string, number, string])[] = [
  ['files', sources.length, ''],
  [`files of ${FRAGMENT_LINES} lines or less that one file of their folder imports`, short.length, ''],
  [`files over ${LONG_LINES} lines`, sources.filter(({ lines }) => lines > LONG_LINES).length, ''],
  ['files that one warm GET with a known token runs through', onTheWay.length, ''],
  ['lines of imports and re-exports', sum(sources.map(({ importLines }) => importLines)), ''],
  ['lines of code, without blanks and comments', sum(sources.map(({ codeLines }) => codeLines)), ''],
  [
    'lines that `weir serve` loads',
    sum(served.map(path => linesOf.get(path) ?? 0)),
    `in ${served.length} files`,
  ],
];
for (const [what, figure, note] of figures) console.log(`${String(figure).padStart(6)}  ${what} ${note}`);
if (withList) {
  console.log(`\nFragments:\n${short.map(({ path, lines }) => `  ${path} ${lines}`).join('\n')}`);
  console.log(`\nOne warm GET runs through:\n${onTheWay.map(path => `  ${path}`).join('\n')}`);
}
process.exit(0);
