import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { stackOf, withSource } from '../../../src/cli/stack-sources.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-stack-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Line 1 of the script is line 3 of src/app/app.ts, line 2 is line 1 of a package. */
const MAP = {
  version: 3,
  sources: ['../../src/app/app.ts', '../../node_modules/zod/index.js'],
  names: [],
  mappings: 'AAEA;ACFA',
};

function script(name: string, map: string | null): string {
  const path = join(folder, name);
  if (map !== null) writeFileSync(`${path}.map`, map);
  return pathToFileURL(path).href;
}

const named = (line: string, maps = new Map<string, SourceMap | null>()) => withSource(line, maps);

describe('a line of a stack', () => {
  it('names the source instead of the script', () => {
    const url = script('mapped.js', JSON.stringify(MAP));
    expect(named(`async Gateway.serve (${url}:1:1)`)).toBe('async Gateway.serve (src/app/app.ts:3:1)');
    expect(named(`${url}:2:1`)).toBe('node_modules/zod/index.js:1:1');
  });

  it('stays as it is where nothing is known', () => {
    for (const url of [script('none.js', null), script('broken.js', '{'), script('empty.js', '{}')])
      expect(named(`serve (${url}:1:1)`)).toBe(`serve (${url}:1:1)`);
    for (const line of [
      'Socket.emit (node:events:519:28)',
      '<anonymous>',
      'eval (data:text/javascript,x:1:1)',
    ])
      expect(named(line)).toBe(line);
  });

  it('has its map read once for all lines of a stack, and for no other', () => {
    const url = script('once.js', JSON.stringify(MAP));
    const maps = new Map<string, SourceMap | null>();
    named(`${url}:1:1`, maps);
    rmSync(join(folder, 'once.js.map'));
    expect(named(`${url}:2:1`, maps)).toBe('node_modules/zod/index.js:1:1');
    expect(named(`${url}:1:1`)).toBe('src/app/app.ts:3:1');
    expect(named(`${url}:1:3`)).toBe(`${url}:1:3`);
  });
});

describe('a stack', () => {
  it('names the sources of its lines', () => {
    const url = script('stack.js', JSON.stringify(MAP));
    expect(stackOf(new Error('why'), [`${url}:1:1`])).toBe('Error: why\n    at src/app/app.ts:3:1');
  });

  it('of a system error costs no source map', () => {
    const url = script('system.js', JSON.stringify(MAP));
    const error = Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' });
    expect(stackOf(error, [`${url}:1:1`])).toBe(`Error: write EPIPE\n    at ${url}:1:1`);
  });
});
