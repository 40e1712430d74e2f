import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Deployment } from './deployment.ts';
import type { Image } from './image.ts';
import {
  type FilesManifest,
  holdsFiles,
  isDeployment,
  isService,
  type Manifest,
  type ObjectMeta,
  type PodManifest,
  type PodSpec,
} from './manifests.ts';
import { addServiceAddress, createPodNetwork, removePodNetwork } from './network.ts';
import { Pod } from './pod.ts';
import { Service } from './service.ts';

/** A cluster of one node and one namespace that runs the pods of Deployments here and opens Services to them. */
export class Cluster {
  readonly deployments = new Map<string, Deployment>();
  readonly services = new Map<string, Service>();
  readonly #files = new Map<string, FilesManifest>();
  /** Names of services by their addresses, as the cluster's DNS has them. */
  readonly #hosts = new Map<string, string>();
  readonly #image: Image;
  readonly #folder: string;
  #pods = 0;

  private constructor(image: Image, folder: string) {
    this.#image = image;
    this.#folder = folder;
  }

  static async create(image: Image): Promise<Cluster> {
    createPodNetwork();
    return new Cluster(image, await mkdtemp(join(tmpdir(), 'weir-cluster-')));
  }

  /** As `kubectl apply` does with objects that are there or not. Objects that only the API server knows are left out. */
  async apply(manifests: readonly Manifest[]): Promise<void> {
    for (const manifest of manifests.filter(holdsFiles))
      this.#files.set(`${manifest.kind}/${manifest.metadata.name}`, manifest);
    await Promise.all(this.pods.map(pod => pod.refreshVolumes()));
    for (const manifest of manifests.filter(isService)) await this.#open(manifest);
    for (const manifest of manifests.filter(isDeployment)) {
      const { name } = manifest.metadata;
      const known = this.deployments.get(name);
      if (known === undefined) this.deployments.set(name, new Deployment(manifest, this.#start));
      else known.apply(manifest);
    }
  }

  /** A ConfigMap or Secret as it is now. */
  readonly files = (kind: 'ConfigMap' | 'Secret', name: string): FilesManifest | undefined =>
    this.#files.get(`${kind}/${name}`);

  /** What pods find under this name: an upstream of the test, or its Redis. */
  addHost(name: string, address: string): void {
    this.#hosts.set(name, address);
  }

  get pods(): Pod[] {
    return [...this.deployments.values()].flatMap(({ pods }) => pods);
  }

  async close(): Promise<void> {
    for (const service of this.services.values()) service.close();
    await Promise.all([...this.deployments.values()].map(deployment => deployment.close()));
    removePodNetwork();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #open(manifest: Manifest & Service['manifest']): Promise<void> {
    const { name } = manifest.metadata;
    if (this.services.has(name)) return;
    const service = await Service.open(manifest, addServiceAddress());
    this.services.set(name, service);
    this.#hosts.set(name, service.address);
    service.follow(this.pods);
  }

  /** Runs one pod to its end. */
  async run({ metadata, spec }: PodManifest): Promise<Pod> {
    const pod = this.#start(metadata, spec, () => {});
    await pod.ended;
    return pod;
  }

  readonly #start = (metadata: ObjectMeta, spec: PodSpec, onChange: () => void): Pod =>
    new Pod(metadata, spec, {
      image: this.#image,
      find: this.files,
      folder: join(this.#folder, `${metadata.name}-${this.#pods++}`),
      hosts: this.#hosts,
      onChange: () => {
        onChange();
        for (const service of this.services.values()) service.follow(this.pods);
      },
    });
}
