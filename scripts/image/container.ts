import { type ChildProcess, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageConfig } from './buildah.ts';

/** Linux counts processor time in hundredths of a second (proc(5), USER_HZ). */
const TICK_MS = 10;

/**
 * Runs an unpacked image much as an engine would: with its command, environment and user, in mount and process namespaces of its
 * own, its root read-only and Node.js as process 1. It shares the network of this machine. (`podman` and `crun` need cgroups, which
 * a container in a container often lacks.)
 */
export class Container {
  readonly process: ChildProcess;
  readonly ended: Promise<unknown[]>;
  output = '';

  constructor(root: string, config: ImageConfig, etc: string) {
    this.process = spawn('unshare', isolated(root, etc, config, [...config.Entrypoint, ...config.Cmd]), {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.ended = once(this.process, 'close');
    for (const stream of [this.process.stdout, this.process.stderr])
      stream?.on('data', text => {
        this.output += text;
      });
  }

  /** The process that is number 1 inside, as this machine counts; null: not yet. */
  get pid(): number | null {
    const parent = this.process.pid;
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim();
    return children === '' ? null : Number(children.split(' ')[0]);
  }

  /** A field of /proc/PID/status. */
  status(field: string): string {
    const text = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return new RegExp(`^${field}:\\s+(.*)$`, 'm').exec(text)?.[1] ?? '';
  }

  /** Processor time of all its threads so far, in steps of 10 ms. */
  get cpuMs(): number {
    const [, fields = ''] = readFileSync(`/proc/${this.pid}/stat`, 'utf8').split(') ');
    const [user, system] = fields.split(' ').slice(11, 13).map(Number);
    return ((user ?? 0) + (system ?? 0)) * TICK_MS;
  }

  get rootIsReadOnly(): boolean {
    const mounts = readFileSync(`/proc/${this.pid}/mountinfo`, 'utf8').split('\n');
    const root = mounts.map(line => line.split(' ')).findLast(fields => fields[4] === '/');
    return root?.[5]?.split(',').includes('ro') ?? false;
  }

  /** The program that runs. */
  get program(): string {
    return readFileSync(`/proc/${this.pid}/cmdline`, 'utf8').split('\0')[0] ?? '';
  }

  terminate(): void {
    if (this.pid !== null) process.kill(this.pid, 'SIGTERM');
  }

  kill(): void {
    if (this.process.exitCode !== null) return;
    // Taking on its user made it forget that it should end with unshare.
    if (this.pid !== null) process.kill(this.pid, 'SIGKILL');
    this.process.kill('SIGKILL');
  }
}

/** Runs the image's health check beside the container, as an engine does. */
export function runHealthcheck(root: string, config: ImageConfig, etc: string): SpawnSyncReturns<string> {
  const [kind, ...command] = config.Healthcheck.Test;
  if (kind !== 'CMD') throw new Error(`the health check needs a shell: ${kind}`);
  return spawnSync('unshare', isolated(root, etc, config, command), { encoding: 'utf8' });
}

/** Whether this machine lets root make such namespaces. */
export function canIsolate(): boolean {
  return spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0;
}

/** Arguments of unshare(1). The shell is this machine's: the image needs none. */
function isolated(root: string, etc: string, config: ImageConfig, command: readonly string[]): string[] {
  const enter = `$setpriv --no-new-privs $chroot --userspec=${config.User} ${root}`;
  const setup = [
    // Found before the image's PATH applies.
    'PATH=$PATH:/usr/sbin:/sbin; setpriv=$(command -v setpriv) chroot=$(command -v chroot)',
    `mount --bind ${root} ${root}`,
    `mount --bind ${etc} ${join(root, 'etc/weir')}`,
    `mount --rbind /dev ${join(root, 'dev')}`,
    `mount -t proc proc ${join(root, 'proc')}`,
    `mount -o remount,bind,ro ${root}`,
    `exec env -i ${config.Env.map(quoted).join(' ')} ${enter} "$@"`,
  ];
  return [
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '/bin/sh',
    '-c',
    setup.join(' && '),
    'sh',
    ...command,
  ];
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
