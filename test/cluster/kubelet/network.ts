import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { waitFor } from '../../support/wait.ts';

const BRIDGE = 'pods';
/** Where kubelet and the upstreams of a test are, as pods see them. */
export const NODE_ADDRESS = '10.244.0.1';

let pods = 1;

/** Makes the network that all pods share: a bridge, which exists once. */
export function createPodNetwork(): void {
  ip('link', 'add', BRIDGE, 'type', 'bridge');
  ip('addr', 'add', `${NODE_ADDRESS}/16`, 'dev', BRIDGE);
  ip('link', 'set', BRIDGE, 'up');
}

export function removePodNetwork(): void {
  ip('link', 'del', BRIDGE);
}

let services = 0;

/** An address that pods reach and no pod has, for a Service. */
export function addServiceAddress(): string {
  const address = `10.96.0.${++services}`;
  ip('addr', 'add', `${address}/32`, 'dev', BRIDGE);
  return address;
}

/** A network namespace for one pod, with an address on the bridge. A process that does nothing keeps it, as in Kubernetes. */
export class PodNetwork {
  readonly address: string;
  readonly pid: number;
  readonly #pause: ChildProcess;

  private constructor(pause: ChildProcess, address: string) {
    this.#pause = pause;
    this.pid = pause.pid ?? 0;
    this.address = address;
  }

  static async create(): Promise<PodNetwork> {
    const number = ++pods;
    const address = `10.244.${number >> 8}.${number & 255}`;
    const pause = spawn('unshare', ['--net', 'sleep', 'infinity'], { stdio: 'ignore' });
    const network = new PodNetwork(pause, address);
    await waitFor(
      'the pod has its network namespace',
      () => namespaceOf(network.pid) !== namespaceOf('self'),
    );
    // The end of the namespace takes the link along, but only some time later.
    const link = `pod${network.pid}`;
    ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(network.pid));
    ip('link', 'set', link, 'master', BRIDGE, 'up');
    const inside = ['--net', `--target=${network.pid}`, 'ip', '-batch', '-'];
    const input = `link set lo up\naddr add ${address}/16 dev eth0\nlink set eth0 up\nroute add default via ${NODE_ADDRESS}\n`;
    execFileSync('nsenter', inside, { input, stdio: ['pipe', 'ignore', 'inherit'] });
    return network;
  }

  close(): void {
    this.#pause.kill('SIGKILL');
  }
}

function namespaceOf(pid: number | string): string {
  return readlinkSync(`/proc/${pid}/ns/net`);
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
