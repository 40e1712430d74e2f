import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A place in a script of the package, as a stack names it. */
const PLACE = /(file:\/\/\/[^()]+\.js):(\d+):(\d+)/;

/** Places by the text that stacks have for them: at most one for each call in the code. */
const found = new Map<string, string>();

/**
 * Has stacks of the package name the lines of the sources. A map is read when a stack first leads through its script and not
 * kept: with `--enable-source-maps`, Node.js reads all of them at the start, for 55 MB and 80 ms of processor time.
 */
export function nameSourcesInStacks(): void {
  if (import.meta.filename.endsWith('.ts')) return;
  Error.prepareStackTrace = (error, calls) => {
    const maps = new Map<string, SourceMap | null>();
    const lines = calls.map(call => `\n    at ${withSource(String(call), maps)}`);
    return headOf(error) + lines.join('');
  };
}

/**
 * The line of a stack with the place in the sources, or as it is where that is unknown.
 *
 * @param maps those of scripts that were read for this stack
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
  // As from the root of the checkout: src/... and node_modules/...
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

/** What Node.js writes first. An error may have getters that throw, and asking for a stack must not. */
function headOf(error: Error): string {
  try {
    return String(error);
  } catch {
    return 'Error';
  }
}
