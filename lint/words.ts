// Part of `npm run lint`: words and turns of phrase that readers stumble over, each with what to write instead. Checks the comments
// and texts of src/ (messages, help, schema descriptions), every Markdown file, and the YAML files that operators read. A pattern is only here if it has no good use:
// the rest of good English is for reviews.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

interface Rule {
  readonly pattern: RegExp;
  readonly instead: string;
}

const WORDS: readonly Rule[] = [
  { pattern: /\bbeside\b/gi, instead: 'next to, or in addition to' },
  { pattern: /\bmend(?:s|ed|ing)?\b/gi, instead: 'fix' },
  { pattern: /\b(?:known|security|old|new|its|these|such|with|of|no) holes?\b/gi, instead: 'vulnerability' },
  { pattern: /\b(?:whence|lest|thereof|whereof)\b/gi, instead: 'from which, so that not, of it' },
  { pattern: /\banew\b/gi, instead: 'again' },
  { pattern: /\bwhoever\b/gi, instead: 'those who, anyone who, or the thing itself: a client that' },
  { pattern: /\bfor ever\b/gi, instead: 'forever' },
  { pattern: /\brecogniz/gi, instead: 'recognis-' },
  { pattern: /\bof late\b/gi, instead: 'recently' },
  { pattern: /\blets? go of\b/gi, instead: 'release' },
  { pattern: /\bunasked\b/gi, instead: 'unrequested, or on its own' },
  { pattern: /\b(?:goes|going) down\b(?= *[.,;:)]|$)/gi, instead: 'shut down' },
  { pattern: /\bhears? (?:of|when|how|what|that)\b/gi, instead: 'is notified of' },
  { pattern: /\b(?:ha(?:s|ve) come|is here|are here|came|comes) whole\b/gi, instead: 'complete' },
  {
    pattern: /\b(?:go|goes|going|went|sent|sends?) along\b/gi,
    instead: 'is kept, forwarded, or sent with it',
  },
  { pattern: /\bright behind\b/gi, instead: 'directly after' },
  { pattern: /\bnobody (?:asked|asks) for\b/gi, instead: 'that was not requested' },
  { pattern: /\b(?:is|are|was|were) away\b/gi, instead: 'unreachable, or not there' },
  { pattern: /\b(?:has|have) not (?:the|an?|its|their|any|enough)\b/gi, instead: 'does not have' },
  { pattern: /\bknow[ns]? \w+ no more\b/gi, instead: 'no longer knows' },
  { pattern: /\bby no way\b/gi, instead: 'never, or not' },
  {
    pattern: /\b(?:that|which|what) is no (?!longer\b|more\b|less\b|\w+er\b)/gi,
    instead: 'is not a, or does not have',
  },
];

/** A comment above a type describes a thing, not an action. */
const TYPE_COMMENTS: readonly Rule[] = [
  { pattern: /^(?:Lists|Says|Tells|Hears|Bears)\b/g, instead: 'a noun phrase: what the type is' },
];

/** The text that a reader sees: comments and string literals, with everything else blanked. */
function textOf(source: string): string {
  const parts = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;
  let text = '';
  let end = 0;
  for (const { 0: part, index } of source.matchAll(parts)) {
    text += blank(source.slice(end, index)) + (/^['"]\.{0,2}\/|^['"]node:/.test(part) ? blank(part) : part);
    end = index + part.length;
  }
  return text + blank(source.slice(end));
}

const blank = (text: string) => text.replace(/[^\n]/g, ' ');

let found = 0;

function report(file: string, text: string, rules: readonly Rule[], firstLine = 1): void {
  for (const { pattern, instead } of rules)
    for (const { 0: words, index } of text.matchAll(pattern)) {
      const line = firstLine + text.slice(0, index).split('\n').length - 1;
      console.log(`${file}:${line}: "${words}": write ${instead}`);
      found += 1;
    }
}

/** Comments of one or more lines directly above an interface or a type. */
const ABOVE_TYPES = /\/\*\*\s+(?:\* )?((?:[^*]|\*(?!\/))*)\*\/\n(?:export )?(?:interface|type)\b/g;

for (const name of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.ts')) continue;
  const file = join('src', name);
  const source = readFileSync(join(ROOT, file), 'utf8');
  report(file, textOf(source), WORDS);
  for (const { 1: comment = '', index } of source.matchAll(ABOVE_TYPES))
    report(file, comment, TYPE_COMMENTS, source.slice(0, index).split('\n').length);
}

const folders = ['.', 'docs', 'bench', 'config', 'compose', 'helm', 'src', 'systemd', 'test', 'scripts'];
const documents = folders.flatMap(folder => {
  const recursive = folder !== '.';
  const names = tryList(join(ROOT, folder), recursive);
  return names.filter(name => /\.(?:md|yaml)$/.test(name)).map(name => join(folder, name));
});
for (const file of new Set(documents)) report(file, readFileSync(join(ROOT, file), 'utf8'), WORDS);

function tryList(folder: string, recursive: boolean): string[] {
  try {
    return readdirSync(folder, { recursive, encoding: 'utf8' });
  } catch {
    return [];
  }
}

if (found > 0) console.log(`${found} to reword`);
process.exitCode = found > 0 ? 1 : 0;
