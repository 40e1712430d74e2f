// Part of `npm run lint`: a comment begins with a verb or with its subject. Comments that begin with one of these words have to be
// read twice, because what they speak of comes last or never.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const BARE = /^(?:Of|Those|By|As|Null|In|Who|Whoever)\b/;

/** A comment's place and first line. */
interface Beginning {
  readonly line: number;
  readonly text: string;
}

/** The first lines of the comments in a source text that Biome has formatted. */
function beginnings(text: string): readonly Beginning[] {
  const found: Beginning[] = [];
  let before = '';
  for (const [index, line] of text.split('\n').entries()) {
    const trimmed = line.trim();
    const block = /^\/\*\*?\s+(\S.*)/.exec(trimmed)?.[1];
    const continued = before === '/**' ? /^\*\s+(\S.*)/.exec(trimmed)?.[1] : undefined;
    const single = before.startsWith('//') ? undefined : /^\/\/\s+(\S.*)/.exec(trimmed)?.[1];
    const first = block ?? continued ?? single;
    if (first !== undefined) found.push({ line: index + 1, text: first });
    before = trimmed;
  }
  return found;
}

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(name =>
  name.endsWith('.ts'),
);
let rejected = 0;
for (const file of files) {
  for (const { line, text } of beginnings(readFileSync(join(ROOT, 'src', file), 'utf8'))) {
    if (!BARE.test(text)) continue;
    rejected += 1;
    console.log(`src/${file}:${line}: begin with a verb or the subject: "${text}"`);
  }
}
if (rejected > 0) console.log(`${rejected} comments begin with Of, Those, By, As, Null, In, Who or Whoever`);
process.exitCode = rejected > 0 ? 1 : 0;
