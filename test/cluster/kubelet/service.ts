import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceManifest, ServicePort } from './manifests.ts';
import type { Pod } from './pod.ts';

/** Until every node knows that an endpoint came or went: the endpoints are written, watched and programmed in turn. */
const PROPAGATION_MS = 700;

/**
 * A Service: TCP connections to its address go to its ready pods in turn. A pod that is deleted or not ready any more keeps the
 * connections that it has, and still gets new ones until the change has propagated. A connection that no pod accepts is closed:
 * nothing is tried twice.
 */
export class Service {
  readonly manifest: ServiceManifest;
  readonly address: string;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #endpoints: readonly Pod[] = [];
  #next = 0;

  private constructor(manifest: ServiceManifest, address: string) {
    this.manifest = manifest;
    this.address = address;
  }

  static async open(manifest: ServiceManifest, address: string): Promise<Service> {
    const service = new Service(manifest, address);
    for (const port of manifest.spec.ports) await service.#listen(port);
    return service;
  }

  /** How many pods it sends connections to now. */
  get endpoints(): number {
    return this.#endpoints.length;
  }

  /** Tells it what is true of all pods now; it follows later. */
  follow(pods: readonly Pod[]): void {
    const ready = pods.filter(pod => pod.ready && !pod.deleted && this.#selects(pod));
    void sleep(PROPAGATION_MS).then(() => {
      this.#endpoints = ready;
    });
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #selects({ metadata }: Pod): boolean {
    const selector = Object.entries(this.manifest.spec.selector ?? {});
    return selector.length > 0 && selector.every(([name, value]) => metadata.labels?.[name] === value);
  }

  async #listen(port: ServicePort): Promise<void> {
    // Each side ends on its own, as over a router.
    const server = createServer({ allowHalfOpen: true, noDelay: true }, client => this.#join(client, port));
    this.#servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port.port, this.address, resolve);
    });
  }

  #join(client: Socket, port: ServicePort): void {
    const pod = this.#endpoints[this.#next++ % Math.max(1, this.#endpoints.length)];
    if (pod === undefined) {
      client.on('error', () => {}).resetAndDestroy();
      return;
    }
    const server = connect({
      host: pod.address,
      port: targetOf(port, pod),
      allowHalfOpen: true,
      noDelay: true,
    });
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.pipe(to);
      // A reset is handed on as one.
      from.on('error', () => void to.resetAndDestroy());
      from.on('close', () => void this.#sockets.delete(from));
    }
  }
}

function targetOf({ targetPort, port }: ServicePort, { spec }: Pod): number {
  if (typeof targetPort !== 'string') return targetPort ?? port;
  const ports = spec.containers.flatMap(container => container.ports ?? []);
  const found = ports.find(({ name }) => name === targetPort);
  if (found === undefined) throw new Error(`the pod has no port ${targetPort}`);
  return found.containerPort;
}
