import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PACKAGE_ROOT } from '../core/index.ts';

const FOLDER = resolve(PACKAGE_ROOT, 'config/demo/app');
const CLIENTS = resolve(PACKAGE_ROOT, 'docs/clients.md');

const PAGE = { file: 'index.html', type: 'text/html; charset=utf-8' } as const;
const FILES: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  '/app': PAGE,
  '/app/': PAGE,
  // The provider sends browsers back here.
  '/app/callback': PAGE,
  '/app/app.css': { file: 'app.css', type: 'text/css' },
  '/app/app.js': { file: 'app.js', type: 'text/javascript' },
  '/app/client.js': { file: 'client.js', type: 'text/javascript' },
};

/** A file of the demo's page. */
export interface AppFile {
  readonly type: string;
  readonly text: string;
}

/** The file of the page at this path, or null. */
export async function appFile(path: string): Promise<AppFile | null> {
  const found = FILES[path];
  if (found === undefined) return null;
  const text =
    found.file === 'client.js' ? await clientCode() : await readFile(resolve(FOLDER, found.file), 'utf8');
  return { type: found.type, text };
}

/** The JavaScript client of docs/clients.md, unchanged. */
async function clientCode(): Promise<string> {
  const code = /^```js\n([\s\S]*?)^```$/m.exec(await readFile(CLIENTS, 'utf8'))?.[1];
  if (code === undefined) throw new Error('docs/clients.md has no client in JavaScript');
  return code;
}
