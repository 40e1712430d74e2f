import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import { tempFolder } from '../support/temp.ts';

/** A small disk of the test's own (Linux, root). */
export async function smallDisk(): Promise<string> {
  const folder = await tempFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', folder]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  return folder;
}

/** Takes all the room that is left. */
export function fill(file: string): void {
  for (const size of [1_048_576, 4_096, 1]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      expect(String(error)).toContain('ENOSPC');
    }
  }
}
