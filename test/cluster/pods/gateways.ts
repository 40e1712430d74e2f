import { template } from '../../chart/chart.ts';
import { waitFor } from '../../support/wait.ts';
import { Cluster } from '../kubelet/cluster.ts';
import type { Deployment } from '../kubelet/deployment.ts';
import { weirImage } from '../kubelet/image.ts';
import { type FilesManifest, isPod, type Manifest, parseManifests } from '../kubelet/manifests.ts';
import type { Pod } from '../kubelet/pod.ts';

/** Values of an installation: those of the chart. */
export type Values = Readonly<Record<string, unknown>>;

/** The name of the Deployment and the Service that the chart makes for the release `weir`. */
const NAME = 'weir';

/** An installation of the chart that runs here: what `helm template` prints, followed by the pod runner. */
export class Gateways {
  readonly cluster: Cluster;
  #manifests: readonly Manifest[] = [];

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  static async open(): Promise<Gateways> {
    return new Gateways(await Cluster.create(weirImage()));
  }

  get deployment(): Deployment {
    const deployment = this.cluster.deployments.get(NAME);
    if (deployment === undefined) throw new Error('nothing is installed');
    return deployment;
  }

  /** Where clients send requests. */
  get origin(): string {
    return `http://${this.cluster.services.get(NAME)?.address}`;
  }

  close(): Promise<void> {
    return this.cluster.close();
  }

  /** As `helm upgrade --install` does: the template of these values on top of a file of the chart's, applied. */
  async install(values: Values, file = 'minimal-values.yaml'): Promise<void> {
    const { code, out, err } = await template(JSON.stringify(values), { file });
    if (code !== 0) throw new Error(err);
    this.#manifests = parseManifests(out);
    await this.cluster.apply(this.#manifests);
  }

  /** As `helm test` does: runs the pods of what is installed that are made for it. */
  async test(): Promise<readonly Pod[]> {
    return Promise.all(this.#manifests.filter(isPod).map(pod => this.cluster.run(pod)));
  }

  /** As `kubectl edit` does with one file of a ConfigMap. */
  async edit(name: string, file: string, change: (text: string) => string): Promise<void> {
    const map = this.cluster.files('ConfigMap', name);
    const text = map?.data?.[file];
    if (map === undefined || text === undefined || change(text) === text)
      throw new Error(`nothing to change in ${name}/${file}`);
    await this.cluster.apply([{ ...map, data: { [file]: change(text) } } as FilesManifest]);
  }

  /** As `kubectl rollout status` waits, and until clients reach the new pods. */
  async rolledOut(): Promise<void> {
    const isDone = (): boolean => {
      const { rolledOut, pods } = this.deployment;
      return rolledOut && this.cluster.services.get(NAME)?.endpoints === pods.length;
    };
    try {
      await waitFor('the Deployment is rolled out', isDone, 60_000);
    } catch (error) {
      throw new Error(`${error}: ${JSON.stringify(this.cluster.pods.map(pod => pod.events))}`);
    }
  }
}
