import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Container } from './container.ts';
import { environmentOf } from './environment.ts';
import type { Image } from './image.ts';
import type { ContainerSpec, ObjectMeta, PodSpec, ProbeSpec } from './manifests.ts';
import { PodNetwork } from './network.ts';
import { askerOf, probe } from './prober.ts';
import { type FindFiles, Volumes } from './volumes.ts';

export interface PodDependencies {
  readonly image: Image;
  readonly find: FindFiles;
  /** A folder of this machine for its volumes. */
  readonly folder: string;
  /** Names of services and their addresses: what the DNS of a cluster says, as lines of /etc/hosts. */
  readonly hosts: ReadonlyMap<string, string>;
  /** Something about it changed. */
  readonly onChange: () => void;
}

/** Between two starts of a container that ends. kubelet begins with 10 s; nothing here depends on it. */
const RESTART_AFTER_MS = 1_000;

/** A step in the life of a pod. */
type Step = 'created' | 'initialised' | 'started' | 'ready' | 'deleted' | 'ended';

/** A pod that runs here as kubelet would run it: init containers first, then the containers with their probes, to the end. */
export class Pod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  /** When a step was first reached, in ms of `performance.now()`. */
  readonly at = new Map<Step, number>();
  /** Why it waits or failed, the latest last. */
  readonly events: string[] = [];
  /** Every container it has run, init containers included, the latest last. */
  readonly containers: Container[] = [];
  /** How often a container was started again. */
  restarts = 0;
  readonly #ready = new Set<string>();
  readonly #deleted = new AbortController();
  readonly #dependencies: PodDependencies;
  readonly #life: Promise<void>;
  #network: PodNetwork | undefined;
  #volumes: Volumes | undefined;

  constructor(metadata: ObjectMeta, spec: PodSpec, dependencies: PodDependencies) {
    this.metadata = metadata;
    this.spec = spec;
    this.#dependencies = dependencies;
    this.#reach('created');
    this.#life = this.#live();
  }

  /** Its address, as soon as it has one. */
  get address(): string {
    return this.#network?.address ?? '';
  }

  get deleted(): boolean {
    return this.#deleted.signal.aborted;
  }

  /** Whether every container has passed its readiness probe. */
  get ready(): boolean {
    return this.#ready.size === this.spec.containers.length;
  }

  /** Resolves when it is gone: after its deletion, or when all containers have ended that must not start again. */
  get ended(): Promise<void> {
    return this.#life;
  }

  /** Gives it the ConfigMaps and Secrets as they are now. */
  async refreshVolumes(): Promise<void> {
    await this.#volumes?.refresh();
  }

  /** Ends it: preStop, SIGTERM, SIGKILL when the grace period is over. Resolves when it is gone. */
  async delete(): Promise<void> {
    if (!this.deleted) {
      this.#deleted.abort();
      this.#reach('deleted');
    }
    await this.#life;
  }

  async #live(): Promise<void> {
    const { folder } = this.#dependencies;
    try {
      await mkdir(folder, { recursive: true });
      this.#network = await PodNetwork.create();
      await this.#mount();
      for (const spec of this.spec.initContainers ?? []) await this.#initialise(spec);
      this.#reach('initialised');
      await Promise.all(this.spec.containers.map(spec => this.#runContainer(spec)));
    } catch (error) {
      if (!this.deleted) this.#note(String(error));
      await new Promise(resolve => this.#onDeleted(() => resolve(undefined)));
    }
    this.#network?.close();
    await rm(folder, { recursive: true, force: true });
    this.#reach('ended');
  }

  /** Waits, as kubelet does, until every ConfigMap and Secret is there. */
  async #mount(): Promise<void> {
    const { folder, find } = this.#dependencies;
    while (this.#volumes === undefined) {
      this.#deleted.signal.throwIfAborted();
      this.#volumes = await Volumes.create(this.spec, join(folder, 'volumes'), find).catch(error => {
        this.#note(String(error));
        return undefined;
      });
      if (this.#volumes === undefined) await this.#wait(200);
    }
  }

  async #initialise(spec: ContainerSpec): Promise<void> {
    for (;;) {
      this.#deleted.signal.throwIfAborted();
      const container = await this.#start(spec);
      const kill = (): void => container.signal('SIGKILL');
      this.#onDeleted(kill);
      const exit = await container.exit;
      if (exit === 0) return;
      this.#note(`init container ${spec.name} ended with ${exit}: ${container.output}`);
      await this.#wait(RESTART_AFTER_MS);
    }
  }

  /** Starts it, and starts it again whenever it ends, until the pod is deleted. */
  async #runContainer(spec: ContainerSpec): Promise<void> {
    while (!this.deleted) {
      const container = await this.#start(spec);
      this.#reach('started');
      const ended = new AbortController();
      const terminated = new Promise<void>(resolve =>
        this.#onDeleted(() => void this.#terminate(container).then(resolve)),
      );
      void this.#probe(container, ended.signal);
      const exit = await container.exit;
      ended.abort();
      this.#setReady(spec.name, false);
      if (this.deleted) return terminated;
      this.#note(`container ${spec.name} ended with ${exit}: ${container.output}`);
      if (this.spec.restartPolicy === 'Never') return;
      this.restarts++;
      await this.#wait(RESTART_AFTER_MS);
    }
  }

  async #start(spec: ContainerSpec): Promise<Container> {
    const { image, folder, find, hosts } = this.#dependencies;
    if (this.#network === undefined || this.#volumes === undefined) throw new Error('the pod is not set up');
    await this.#volumes.refresh();
    const hostsFile = join(folder, 'hosts');
    const lines = [...hosts].map(([name, address]) => `${address} ${name}\n`);
    await writeFile(hostsFile, `127.0.0.1 localhost\n${lines.join('')}`);
    const container = await Container.start(spec, {
      image,
      network: this.#network,
      volumes: this.#volumes,
      root: join(folder, 'roots', spec.name),
      podSecurity: this.spec.securityContext ?? {},
      environment: environmentOf(spec, { metadata: this.metadata, ip: this.address }, find),
      extraFiles: new Map([['/etc/hosts', hostsFile]]),
    });
    this.containers.push(container);
    return container;
  }

  /** Readiness and liveness are asked once the container has started; readiness also while it drains. */
  async #probe(container: Container, ended: AbortSignal): Promise<void> {
    const { name, startupProbe, readinessProbe, livenessProbe } = container.spec;
    const until = AbortSignal.any([ended, this.#deleted.signal]);
    const kill = (kind: string): void => {
      this.#note(`container ${name} failed its ${kind} probe and is killed`);
      container.signal('SIGKILL');
    };
    const begin = (
      spec: ProbeSpec,
      initially: boolean | 'undecided',
      onChange: (good: boolean) => void,
      stop: AbortSignal,
    ) => probe(spec, askerOf(spec, container.spec, this.address), initially, onChange, stop);

    if (startupProbe !== undefined) {
      const started = new AbortController();
      const onChange = (good: boolean): void => (good ? started.abort() : kill('startup'));
      await begin(startupProbe, 'undecided', onChange, AbortSignal.any([until, started.signal]));
      if (until.aborted) return;
    }
    if (livenessProbe !== undefined) void begin(livenessProbe, true, () => kill('liveness'), until);
    if (readinessProbe === undefined) this.#setReady(name, true);
    else void begin(readinessProbe, false, good => this.#setReady(name, good), ended);
  }

  async #terminate(container: Container): Promise<void> {
    const inTime = await container.terminate(this.spec.terminationGracePeriodSeconds ?? 30);
    if (!inTime) this.#note(`container ${container.spec.name} outlived its grace period and was killed`);
  }

  #setReady(name: string, ready: boolean): void {
    if (ready) this.#ready.add(name);
    else this.#ready.delete(name);
    if (this.ready) this.#reach('ready');
    this.#dependencies.onChange();
  }

  #reach(step: Step): void {
    if (!this.at.has(step)) this.at.set(step, performance.now());
    this.#dependencies.onChange();
  }

  #note(event: string): void {
    if (this.events.at(-1) !== event) this.events.push(event);
    this.#dependencies.onChange();
  }

  #onDeleted(action: () => void): void {
    if (this.deleted) action();
    else this.#deleted.signal.addEventListener('abort', action, { once: true });
  }

  /** Ends early, without an error, when the pod is deleted. */
  async #wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#deleted.signal }).catch(() => {});
  }
}
