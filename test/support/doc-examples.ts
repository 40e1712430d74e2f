import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A configuration file as a document shows it. */
export interface DocExample {
  /** `README.md:12`, the line where the example begins. */
  readonly where: string;
  /** The file that its first line names, without folders: `gateway.yaml`. */
  readonly file: string;
  readonly text: string;
}

/** The folders that hold documents; of `.` only the files in it. */
const FOLDERS = ['.', 'config', 'docs', 'src'];

/** Every yaml block in the project's documents whose first line is a comment with the name of a configuration file. */
export async function docExamples(): Promise<DocExample[]> {
  const examples: DocExample[] = [];
  for (const folder of FOLDERS) {
    const names = await readdir(folder, { recursive: folder !== '.' }).catch(() => []);
    for (const name of names.filter(each => each.endsWith('.md')).sort()) {
      const path = join(folder, name);
      examples.push(...examplesIn(path, await readFile(path, 'utf8')));
    }
  }
  return examples;
}

/** The examples of one document. Blocks may be indented, as in a list; the indent is not part of the example. */
export function examplesIn(path: string, document: string): DocExample[] {
  const blocks = document.matchAll(
    /^([ \t]*)```ya?ml\n[ \t]*# (?:\S*\/)?([\w-]+\.ya?ml)\n([\s\S]*?)^[ \t]*```$/gm,
  );
  return Array.from(blocks, ({ index, 1: indent = '', 2: file = '', 3: body = '' }) => ({
    where: `${path}:${document.slice(0, index).split('\n').length + 1}`,
    file,
    text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}
