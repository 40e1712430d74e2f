// Prints how easy it is to find one's way in src/: `npm run house`. These are figures, not rules: `npm run lint` checks the rules.
//   --list    also lists lines by folder, fragments, and the mechanisms
//   --check   prints nothing but what is wrong with house-lists.ts: files that are gone, tasks that touch more files than they should
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { argv, exit } from 'node:process';
import { MECHANISMS, TASKS } from './house-lists.ts';

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
  /** The names that it declares and exports. */
  readonly exports: readonly string[];
}

const IMPORT = /^(?:import|export)\b(?:[^;'"]*?\bfrom)?\s*'([^']+)'[^;]*;/gm;
const EXPORTED = /^export (?:async )?(?:abstract )?(?:function|class|const|interface|type) (\w+)/gm;
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
  const exports = [...text.matchAll(EXPORTED)].map(([, name = '']) => name);
  return { path: relative(ROOT, file), lines: lines.length, codeLines, importLines, imports, exports };
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

/** The folder of a file in its wing: `limits/redis`; the wing itself for files that stand in it alone. */
function roomOf(path: string): string {
  const [, wing = '', room = ''] = path.split('/');
  return room.endsWith('.ts') || room === '' ? wing : `${wing}/${room}`;
}

function linesBy(sources: readonly Source[], placeOf: (path: string) => string): readonly [string, number][] {
  const places = new Map<string, number>();
  for (const { path, lines } of sources) places.set(placeOf(path), (places.get(placeOf(path)) ?? 0) + lines);
  return [...places].sort(([, one], [, other]) => other - one);
}

/** Exported names that several files declare: each file may mean another thing by it. */
function doubledNames(sources: readonly Source[]): readonly [string, readonly string[]][] {
  const files = new Map<string, string[]>();
  for (const { path, exports } of sources)
    for (const name of new Set(exports)) files.set(name, [...(files.get(name) ?? []), path]);
  return [...files].filter(([, paths]) => paths.length > 1).sort();
}

const named = [...MECHANISMS, ...TASKS].flatMap(({ files }) => files);
const flaws = [
  ...named
    .filter(file => !existsSync(join(SRC, file)))
    .map(file => `names ${file}, which src/ does not have`),
  ...TASKS.filter(({ files, most }) => files.length > most).map(
    ({ task, files, most }) => `has ${files.length} files for "${task}", which should touch at most ${most}`,
  ),
];
for (const flaw of flaws) console.log(`lint/house-lists.ts ${flaw}`);
if (flaws.length > 0) exit(1);
if (argv.includes('--check')) exit();

const withList = argv.includes('--list');
const sources = readSources();
const short = fragments(sources);
const doubled = doubledNames(sources);
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const figures: readonly (readonly [string, number])[] = [
  ['lines', sum(sources.map(({ lines }) => lines))],
  ['lines of code, without blanks and comments', sum(sources.map(({ codeLines }) => codeLines))],
  ['lines of imports and re-exports', sum(sources.map(({ importLines }) => importLines))],
  [`files of ${FRAGMENT_LINES} lines or less that one file of their folder imports`, short.length],
  [`files over ${LONG_LINES} lines`, sources.filter(({ lines }) => lines > LONG_LINES).length],
  ['exported names that several files declare', doubled.length],
];
for (const [what, figure] of figures) console.log(`${String(figure).padStart(6)}  ${what}`);
for (const [name, paths] of doubled) console.log(`${' '.repeat(10)}${name}: ${paths.join(', ')}`);
console.log('\nLines by wing:');
for (const [wing, lines] of linesBy(sources, path => path.split('/')[1] ?? ''))
  console.log(`${String(lines).padStart(6)}  ${wing}`);
console.log('\nFiles of src/ that a change touches, and the most that it should:');
for (const { task, files, most } of TASKS)
  console.log(`${String(files.length).padStart(6)}  of ${most}: ${task}`);
const explained = MECHANISMS.filter(({ why }) => why !== undefined);
console.log(
  `\nMechanisms of one idea, and why there is more than one (of ${MECHANISMS.length} ideas that are listed):`,
);
for (const { idea, files, why } of explained)
  console.log(`${String(files.length).padStart(6)}  ${idea}: ${why}`);
if (withList) {
  console.log(
    `\nMechanisms:\n${MECHANISMS.map(({ idea, files }) => `  ${idea}: ${files.join(', ')}`).join('\n')}`,
  );
  console.log('\nLines by folder:');
  for (const [room, lines] of linesBy(sources, roomOf)) console.log(`${String(lines).padStart(6)}  ${room}`);
  console.log(`\nFragments:\n${short.map(({ path, lines }) => `  ${path} ${lines}`).join('\n')}`);
}
