import { spawnSync } from 'node:child_process';
import { freePort, type Part, startPart } from './part.ts';

export interface RedisServer extends Part {
  readonly url: string;
}

/** A Redis that keeps nothing on disk, or null where none is installed. */
export async function startRedis(): Promise<RedisServer | null> {
  if (spawnSync('redis-server', ['--version']).status !== 0) return null;
  const port = await freePort();
  const parameters = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const part = await startPart({ command: 'redis-server', parameters }, port);
  return { ...part, url: `redis://127.0.0.1:${port}` };
}
