import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const CONNECTION = join(import.meta.dirname, '../../../../../src/limits/redis/connection/index.ts');

/** In a process of its own: other programs of the tests change what they run in. */
function stringsBehind(module: string): string {
  const program = `await import(${JSON.stringify(module)}); console.log(%HasFastProperties(String.prototype))`;
  const parameters = ['--allow-natives-syntax', '--input-type=module', '--eval', program];
  return spawnSync(process.execPath, parameters, { encoding: 'utf8' }).stdout.trim();
}

test('the methods of strings are not in a dictionary behind ioredis', () => {
  expect(stringsBehind(CONNECTION)).toBe('true');
});
