import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './lifetime.ts';

/** A new empty folder that goes when the running test ends, or what shares it. */
export async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-test-'));
  // Retries: a process that was ended may still have children that write.
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A new file that goes when the running test ends, or what shares it. */
export async function tempText(name: string, text: string): Promise<string> {
  const path = join(await tempFolder(), name);
  await writeFile(path, text);
  return path;
}
