import { type Document, LineCounter, parseDocument, type YAMLError } from 'yaml';

/** Where something is written; both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A problem within one file whose name the reader of the file adds. */
export interface PlacedMistake extends Place {
  readonly message: string;
}

export interface YamlText {
  /** Null when the text is broken so badly that what follows from it would mislead. */
  readonly document: Document.Parsed | null;
  readonly mistakes: readonly PlacedMistake[];
  placeOf(offset: number): Place;
}

/**
 * Parses one YAML 1.2 document. A warning of the parser is a mistake too: it stands for something that does not mean
 * what it seems to, such as an unknown tag.
 */
export function parseYamlText(text: string): YamlText {
  // A line counter serves one document only: shared, it gives wrong lines.
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    merge: true,
    prettyErrors: false,
    strict: true,
    stringKeys: true,
    uniqueKeys: true,
  });
  const placeOf = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const errors = firstOfEachLine([...document.errors, ...document.warnings], placeOf);
  const mistakes = errors.map(error => ({ ...placeOf(error.pos[0]), message: explain(error, text) }));
  return { document: document.errors.every(isHarmless) ? document : null, mistakes, placeOf };
}

/** The tree is whole in spite of a doubled key, so that its other mistakes can be told as well. */
function isHarmless(error: YAMLError): boolean {
  return error.code === 'DUPLICATE_KEY';
}

/** After its first error the parser is out of step for the rest of the line, and what it says there confuses. */
function firstOfEachLine(errors: readonly YAMLError[], placeOf: (offset: number) => Place): YAMLError[] {
  const exhausted = errors.find(error => error.code === 'RESOURCE_EXHAUSTION');
  if (exhausted !== undefined) return [exhausted];
  const lines = new Set<number>();
  return errors.filter(error => {
    const { line } = placeOf(error.pos[0]);
    const first = !lines.has(line);
    lines.add(line);
    // The tree reports every tag, known to the parser or not.
    return first && error.code !== 'TAG_RESOLVE_FAILED';
  });
}

function explain(error: YAMLError, text: string): string {
  const [start, end] = error.pos;
  switch (error.code) {
    case 'DUPLICATE_KEY':
      return 'this key is already there';
    case 'MULTIPLE_DOCS':
      return 'a second YAML document starts here: one file holds one, remove the "---"';
    case 'NON_STRING_KEY':
      return 'a key must be plain text';
    case 'RESOURCE_EXHAUSTION':
      return 'nested too deeply';
    case 'TAB_AS_INDENT':
      return 'a tab indents this line: use spaces';
    case 'BAD_ALIAS':
      return 'a value that starts with "*" must be in quotes';
    case 'BAD_SCALAR_START':
      return `a value that starts with ${JSON.stringify(text.slice(start, end).slice(0, 1))} must be in quotes`;
    case 'UNEXPECTED_TOKEN':
      if (text[start] !== '{' && text[start] !== '[') return error.message;
      return 'inside { } or [ ] a value with braces or brackets of its own must be in quotes';
    default:
      return error.message;
  }
}
