import { type Document, LineCounter, parseDocument } from 'yaml';

import { oddCharacterIn } from './odd-characters.ts';
import type { Place, PlacedError } from './place.ts';
import { SecretLines } from './secret-lines.ts';
import { gluedKeys, yamlErrors } from './yaml-errors.ts';

export interface YamlText {
  /** The parsed text; `null` if it is too broken to build on, so that further messages would mislead. */
  readonly document: Document.Parsed | null;
  readonly errors: readonly PlacedError[];
  /** Says what messages may repeat of the text. */
  readonly secrets: SecretLines;
  placeOf(offset: number): Place;
}

/**
 * Parses one YAML 1.2 document.
 *
 * @param secretKeys the names of keys whose values are secrets.
 */
export function parseYamlText(text: string, secretKeys: readonly string[] = []): YamlText {
  // One line counter per document: a shared one returns wrong lines.
  const lineCounter = new LineCounter();
  const placeOf = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const secrets = new SecretLines(text, secretKeys);
  const odd = oddCharacterIn(text);
  if (odd.length > 0) return { document: null, errors: odd, secrets, placeOf };
  const document = parseDocument(text, {
    lineCounter,
    merge: true,
    prettyErrors: false,
    strict: true,
    stringKeys: true,
    // The parser compares all pairs of keys in a map, which is quadratic; `doubledKeys` is linear.
    uniqueKeys: false,
  });
  const glued = document.errors.length === 0 ? gluedKeys(document, text.split('\n'), placeOf) : [];
  if (glued.length > 0) return { document: null, errors: glued, secrets, placeOf };
  const errors = yamlErrors(document, text, placeOf, secrets).map(error => secrets.advise(error));
  return { document: document.errors.length === 0 ? document : null, errors, secrets, placeOf };
}
