import { createHash } from 'node:crypto';
import type { DeploymentManifest, ObjectMeta, PodSpec } from './manifests.ts';
import type { Pod } from './pod.ts';

/** Starts a pod. `onChange` is called whenever something about it changes. */
export type StartPod = (metadata: ObjectMeta, spec: PodSpec, onChange: () => void) => Pod;

/**
 * Keeps as many pods as a Deployment asks for, and replaces them when its template changes, within `maxSurge` and
 * `maxUnavailable`, by the rules of the deployment controller.
 */
export class Deployment {
  /** Those that are not gone, the oldest first. */
  readonly pods: Pod[] = [];
  readonly #start: StartPod;
  readonly #templates = new Map<Pod, string>();
  #manifest: DeploymentManifest;
  #created = 0;

  constructor(manifest: DeploymentManifest, start: StartPod) {
    this.#manifest = manifest;
    this.#start = start;
    this.#reconcile();
  }

  apply(manifest: DeploymentManifest): void {
    this.#manifest = manifest;
    this.#reconcile();
  }

  scale(replicas: number): void {
    this.apply({ ...this.#manifest, spec: { ...this.#manifest.spec, replicas } });
  }

  /** Ends all pods at once. */
  async close(): Promise<void> {
    const pods = [...this.pods];
    this.scale(0);
    for (const pod of pods) for (const container of pod.containers) container.signal('SIGKILL');
    await Promise.all(pods.map(pod => pod.delete()));
  }

  /** Whether all pods are of the current template and available, and no other is left. */
  get rolledOut(): boolean {
    const replicas = this.#manifest.spec.replicas ?? 1;
    return this.pods.length === replicas && this.pods.every(pod => this.#isNew(pod) && this.#available(pod));
  }

  #reconcile(): void {
    const { replicas = 1, strategy } = this.#manifest.spec;
    if (strategy?.type === 'Recreate') throw new Error('the deployment controller here only rolls');
    const surge = shareOf(strategy?.rollingUpdate?.maxSurge ?? '25%', replicas, Math.ceil);
    const unavailable = shareOf(strategy?.rollingUpdate?.maxUnavailable ?? '25%', replicas, Math.floor);
    const least = replicas - (surge === 0 && unavailable === 0 ? 1 : unavailable);
    const alive = (): Pod[] => this.pods.filter(pod => !pod.deleted);

    while (alive().filter(pod => this.#isNew(pod)).length < replicas && alive().length < replicas + surge)
      this.#create();

    for (const pod of alive()
      .filter(candidate => this.#isNew(candidate))
      .slice(replicas))
      this.#delete(pod);
    // Old pods that serve nobody go first, then as many others as the rest can spare.
    const old = (): Pod[] => alive().filter(pod => !this.#isNew(pod));
    for (const pod of old()) if (!this.#available(pod)) this.#delete(pod);
    const spare = alive().filter(pod => this.#available(pod)).length - least;
    for (const pod of old().slice(0, Math.max(0, spare))) this.#delete(pod);
  }

  #create(): void {
    const { metadata, spec } = this.#manifest;
    const name = `${metadata.name}-${digestOf(spec.template).slice(0, 8)}-${this.#created++}`;
    const own = {
      ...spec.template.metadata,
      name,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
    };
    const pod = this.#start(own, spec.template.spec, () => queueMicrotask(() => this.#reconcile()));
    this.#templates.set(pod, digestOf(spec.template));
    this.pods.push(pod);
  }

  #delete(pod: Pod): void {
    void pod.delete().then(() => {
      this.pods.splice(this.pods.indexOf(pod), 1);
      this.#templates.delete(pod);
    });
  }

  #isNew(pod: Pod): boolean {
    return this.#templates.get(pod) === digestOf(this.#manifest.spec.template);
  }

  #available(pod: Pod): boolean {
    if ((this.#manifest.spec.minReadySeconds ?? 0) > 0)
      throw new Error('the deployment controller here has no minReadySeconds');
    return pod.ready && !pod.deleted;
  }
}

function digestOf(value: object): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

function shareOf(value: number | string, of: number, round: (share: number) => number): number {
  return typeof value === 'number' ? value : round((Number.parseFloat(value) / 100) * of);
}
