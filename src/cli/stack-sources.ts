import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A location in a script of the package, as written in a stack. */
const PLACE = /(file:\/\/\/[^()]+\.js):(\d+):(\d+)/;

/** Locations in the sources by their text in stacks. Bounded: at most one per call in the code. */
const found = new Map<string, string>();

/**
 * Makes stack traces of the package refer to lines of the sources. Reads a source map when a stack first needs it, and does not
 * keep it: `--enable-source-maps` reads all of them at startup, which costs 55 MB and 80 ms of processor time.
 */
export function nameSourcesInStacks(): void {
  if (import.meta.filename.endsWith('.ts')) return;
  Error.prepareStackTrace = stackOf;
}

/**
 * Formats a stack. Those of system errors keep the locations in scripts: Node asks for the stack of each broken socket, nobody
 * reads it, and a source map takes a third of a second.
 */
export function stackOf(error: Error, calls: readonly unknown[]): string {
  const maps = new Map<string, SourceMap | null>();
  const isOfSystem = 'syscall' in error;
  const lines = calls.map(call => `\n    at ${isOfSystem ? call : withSource(String(call), maps)}`);
  return headOf(error) + lines.join('');
}

/**
 * The line of a stack with the location in the sources, or unchanged if that is unknown.
 *
 * @param maps the source maps read for this stack, by script
 */
export function withSource(line: string, maps: Map<string, SourceMap | null>): string {
  const place = PLACE.exec(line);
  if (place === null) return line;
  const [text, script = '', row, column] = place;
  let source = found.get(text);
  if (source === undefined) {
    source = sourceOf(mapOf(script, maps), Number(row), Number(column)) ?? text;
    found.set(text, source);
  }
  return line.replace(text, () => source);
}

function sourceOf(map: SourceMap | null, row: number, column: number): string | null {
  const origin = map?.findOrigin(row, column);
  if (origin === undefined || !('fileName' in origin)) return null;
  // Make the path relative to the root of the checkout: src/... or node_modules/...
  return `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`;
}

function mapOf(script: string, maps: Map<string, SourceMap | null>): SourceMap | null {
  let map = maps.get(script);
  if (map === undefined) {
    map = readMap(script);
    maps.set(script, map);
  }
  return map;
}

function readMap(script: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(script)}.map`, 'utf8')));
  } catch {
    return null;
  }
}

/** The first line of a stack. Must not throw, even if a getter of the error does. */
function headOf(error: Error): string {
  try {
    return String(error);
  } catch {
    return 'Error';
  }
}
