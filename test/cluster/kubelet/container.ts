import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../support/wait.ts';
import type { Image } from './image.ts';
import type { ContainerSpec, PodSecurity } from './manifests.ts';
import type { PodNetwork } from './network.ts';
import type { Volumes } from './volumes.ts';

export interface ContainerDependencies {
  readonly image: Image;
  readonly network: PodNetwork;
  readonly volumes: Volumes;
  /** An empty folder of this machine, where the root of its file system is made. */
  readonly root: string;
  readonly podSecurity: PodSecurity;
  /** In addition to that of the image. */
  readonly environment: Readonly<Record<string, string>>;
  /** Files that kubelet adds, by their path inside, such as /etc/hosts. */
  readonly extraFiles: ReadonlyMap<string, string>;
}

/**
 * A container: process 1 of its own process and mount namespaces, in the network namespace of its pod, with a root file system
 * of what the image and the volumes hold, as the user that the manifest names, without privileges.
 */
export class Container {
  readonly spec: ContainerSpec;
  /** In addition to that of the image. */
  readonly environment: Readonly<Record<string, string>>;
  /** Resolves when the process is gone, with its exit code or the signal that killed it. */
  readonly exit: Promise<number | NodeJS.Signals>;
  /** What it wrote to standard output and standard error. */
  output = '';
  readonly #parent: ChildProcess;
  #pid = 0;

  private constructor(
    spec: ContainerSpec,
    environment: Readonly<Record<string, string>>,
    parent: ChildProcess,
  ) {
    this.spec = spec;
    this.environment = environment;
    this.#parent = parent;
    this.exit = once(parent, 'close').then(([code, signal]) => code ?? signal);
    for (const stream of [parent.stdout, parent.stderr])
      stream?.on('data', bytes => {
        this.output += String(bytes);
      });
  }

  static async start(spec: ContainerSpec, dependencies: ContainerDependencies): Promise<Container> {
    await mkdir(dependencies.root, { recursive: true });
    const { image, environment, network } = dependencies;
    const args = [
      ...['--net', `--target=${network.pid}`, '--'],
      ...['unshare', '--mount', '--pid', '--fork', '--kill-child', '--propagation', 'private', '--'],
      ...['/bin/sh', join(import.meta.dirname, 'container.sh')],
      ...rootArguments(spec, dependencies),
      ...commandOf(spec, image),
    ];
    const env = { ...image.environment, ...environment };
    const container = new Container(
      spec,
      environment,
      spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'pipe'], env }),
    );
    await waitFor('the container has a process', () => container.#findProcess());
    return container;
  }

  get running(): boolean {
    return this.#parent.exitCode === null && this.#parent.signalCode === null;
  }

  /** That of its process, seen from outside. */
  get pid(): number {
    return this.#pid;
  }

  signal(name: NodeJS.Signals): void {
    // Signals go to the process itself: `unshare` would keep them.
    if (this.running && existsSync(`/proc/${this.#pid}`)) process.kill(this.#pid, name);
  }

  /** preStop, SIGTERM, and SIGKILL when the grace period is over. Resolves when it is gone: true if it did not take SIGKILL. */
  async terminate(graceSeconds: number): Promise<boolean> {
    const gone = new AbortController();
    void this.exit.then(() => gone.abort());
    const elapsed = (seconds: number): Promise<boolean> =>
      sleep(seconds * 1_000, true, { signal: gone.signal }).catch(() => false);
    const late = elapsed(graceSeconds);
    const { preStop } = this.spec.lifecycle ?? {};
    if (preStop !== undefined) {
      if (preStop.sleep === undefined) throw new Error('the pod runner has no preStop but sleep');
      await elapsed(preStop.sleep.seconds);
    }
    this.signal('SIGTERM');
    const isLate = await late;
    if (isLate) this.signal('SIGKILL');
    await this.exit;
    return !isLate;
  }

  /** Resident memory in bytes. */
  async memoryBytes(): Promise<number> {
    return Number((await this.#status()).get('VmRSS')) * 1024;
  }

  /** Who it is and what it may, as the kernel sees it. */
  async privileges(): Promise<Readonly<Record<string, string | undefined>>> {
    const status = await this.#status();
    const names = ['Uid', 'Gid', 'Groups', 'NoNewPrivs', 'CapEff'];
    return Object.fromEntries(names.map(name => [name, status.get(name)]));
  }

  /** The first word of each line of /proc/PID/status by its name. */
  async #status(): Promise<ReadonlyMap<string, string>> {
    const text = await readFile(`/proc/${this.#pid}/status`, 'utf8');
    return new Map([...text.matchAll(/^(\w+):\s*(\S*)/gm)].map(([, name = '', word = '']) => [name, word]));
  }

  /** The child of `unshare`, which only waits for it. True as soon as there is one, or will be none. */
  async #findProcess(): Promise<boolean> {
    const { pid } = this.#parent;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
    this.#pid = Number(children.trim());
    return this.#pid > 0 || !this.running;
  }
}

/** What `container.sh` expects before the command. */
function rootArguments(spec: ContainerSpec, dependencies: ContainerDependencies): string[] {
  const { image, podSecurity, volumes, extraFiles, root } = dependencies;
  const security = { ...podSecurity, ...spec.securityContext };
  const user = security.runAsUser ?? image.user;
  if (security.runAsNonRoot === true && user === 0)
    throw new Error(`container ${spec.name}: runs as root, which runAsNonRoot forbids`);
  const group = security.runAsGroup ?? 0;
  const mounts = [...image.files, ...extraFiles].flatMap(([to, from]) => [`ro:${from}`, to]);
  for (const { name, mountPath, readOnly, subPath } of spec.volumeMounts ?? []) {
    if (subPath !== undefined) throw new Error('the pod runner has no subPath: such files never change');
    mounts.push(`${readOnly === true ? 'ro:' : ''}${volumes.folderOf(name)}`, mountPath);
  }
  const groups = podSecurity.fsGroup ?? group;
  const writable = spec.securityContext?.readOnlyRootFilesystem === true ? 'no' : 'yes';
  return [root, user, group, groups, writable, mounts.length / 2, ...mounts].map(String);
}

function commandOf(spec: ContainerSpec, image: Image): readonly string[] {
  if (spec.workingDir !== undefined) throw new Error('the pod runner has no workingDir');
  // `command` replaces the entrypoint, and the image's arguments with it.
  if (spec.command !== undefined) return [...spec.command, ...(spec.args ?? [])];
  return [...image.entrypoint, ...(spec.args ?? image.cmd)];
}
