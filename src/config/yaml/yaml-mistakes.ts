import { type Document, isScalar, isSeq, visit, type YAMLError } from 'yaml';

import type { Broken } from './broken.ts';
import { explainYaml } from './explain-yaml.ts';
import type { Place, PlacedMistake } from './place.ts';
import type { SecretLines } from './secret-lines.ts';

/** A warning of the parser is a mistake too: it stands for something that does not mean what it seems to. */
export function yamlMistakes(
  document: Document.Parsed,
  text: string,
  placeOf: (offset: number) => Place,
  secrets: SecretLines,
): PlacedMistake[] {
  const errors = [...document.errors, ...document.warnings];
  const exhausted = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  if (exhausted !== undefined) return [{ ...placeOf(exhausted.pos[0]), message: 'nested too deeply' }];
  // The tree reports every tag, known to the parser or not.
  const broken = errors.filter(({ code }) => code !== 'TAG_RESOLVE_FAILED');
  // The tree is whole in spite of a doubled key, so that its other mistakes can be told as well.
  if (broken.length === 0) return doubledKeys(document, placeOf, secrets);
  const lines = text.split('\n');
  const conflicts = mergeConflicts(lines);
  return conflicts.length > 0 ? conflicts : tellBroken(document, broken, { text, lines, placeOf });
}

/** Past these the rest follows from them. */
const MAX_TOLD = 50;

/** After its first error the parser is out of step for the rest of the line, and after some for the rest of the file. */
function tellBroken(
  document: Document.Parsed,
  errors: readonly YAMLError[],
  where: Pick<Broken, 'text' | 'lines' | 'placeOf'>,
): PlacedMistake[] {
  const mistakes: PlacedMistake[] = [];
  const seen = new Set<number>();
  for (const error of errors.toSorted((a, b) => a.pos[0] - b.pos[0])) {
    const at = where.placeOf(error.pos[0]);
    if (seen.has(at.line)) continue;
    seen.add(at.line);
    const line = where.lines[at.line - 1] ?? '';
    const broken = { ...where, error, at, line, quoteAt: (offset: number) => quoteAt(document, offset) };
    const { outOfStep = false, ...mistake } = explainYaml(broken);
    if (mistakes.at(-1)?.line !== mistake.line) mistakes.push(mistake);
    if (outOfStep || mistakes.length === MAX_TOLD) break;
  }
  const tab = mistakes.findIndex(({ message }) => message.startsWith('a tab '));
  // What indents by tabs does so throughout, and every other message from there on follows from it.
  return tab === -1
    ? mistakes
    : mistakes.filter(({ message }, index) => index < tab || message.startsWith('a tab '));
}

/** Lines that git leaves in a file where it could not merge: one of them for each conflict. */
function mergeConflicts(lines: readonly string[]): PlacedMistake[] {
  const message =
    'a merge stopped here: keep one of the two sides, and remove the lines with <<<<<<<, ======= and >>>>>>>';
  const found = lines.flatMap((line, index) => {
    const [, marker] = /^(<{7}|\|{7}|={7}|>{7})(?: |\r?$)/.exec(line) ?? [];
    return marker === undefined ? [] : [{ marker, line: index + 1, column: 1, message }];
  });
  const begins = found.filter(({ marker }) => marker.startsWith('<'));
  return (begins.length > 0 ? begins : found.slice(0, 1)).map(({ marker: _, ...mistake }) => mistake);
}

function doubledKeys(
  document: Document.Parsed,
  placeOf: (offset: number) => Place,
  secrets: SecretLines,
): PlacedMistake[] {
  const mistakes: PlacedMistake[] = [];
  visit(document, {
    Map(_, map, path) {
      const first = new Map<string, Place>();
      for (const { key } of map.items) {
        if (!isScalar(key) || !key.range) continue;
        const [name, place] = [String(key.value), placeOf(key.range[0])];
        const before = first.get(name);
        if (before === undefined) first.set(name, place);
        else
          mistakes.push({
            ...place,
            message: whyDoubled(secrets.quoteKey(name, place.line), before, isSeq(path.at(-1))),
          });
      }
    },
  });
  return mistakes;
}

/** @param name in quotes; null: it may be a part of a secret. */
function whyDoubled(name: string | null, before: Place, inList: boolean): string {
  const key = name === null ? 'this key' : `the key ${name}`;
  const item = inList ? '; a new item of the list begins with "- "' : '';
  return `${key} is already there, in line ${before.line}${item}`;
}

/** Where the quoted text begins that ends, or does not end, at this offset. */
function quoteAt(document: Document.Parsed, offset: number): number | null {
  let found: number | null = null;
  visit(document, {
    Scalar(_, { type, range }) {
      if (type?.startsWith('QUOTE') && range && range[0] < offset && offset <= range[2]) found = range[0];
    },
  });
  return found;
}
