import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HELM_VERSIONS, kubectlCommand } from '../../chart/helm-fetched.ts';
import { waitFor } from '../../support/wait.ts';
import { kubernetesProgram } from './build.ts';

/** In the network namespace of the tests, where nothing else listens. */
const ETCD = 'http://127.0.0.1:2379';
const ETCD_PEERS = 'http://127.0.0.1:2380';
const PORT = 6443;
const TOKEN = 'the-administrator-of-this-test';

const KUBECTL = kubectlCommand(HELM_VERSIONS.at(-1) ?? '');

export interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A real API server with its etcd and, where asked for, the controllers. Pods are objects in it: nothing runs them. */
export class ApiServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'weir-api-server-'));
  readonly kubeconfig = join(this.folder, 'kubeconfig');
  readonly #processes: ChildProcess[] = [];
  #log = '';

  /** From nothing to ready in about 5 s. */
  static async start(): Promise<ApiServer> {
    const server = new ApiServer();
    server.#writeFiles();
    server.#spawn('etcd', [
      `--data-dir=${join(server.folder, 'etcd')}`,
      ...[`--listen-client-urls=${ETCD}`, `--advertise-client-urls=${ETCD}`],
      ...[`--listen-peer-urls=${ETCD_PEERS}`, `--initial-advertise-peer-urls=${ETCD_PEERS}`],
      ...[`--initial-cluster=default=${ETCD_PEERS}`, '--unsafe-no-fsync', '--log-level=error'],
    ]);
    server.#spawn(kubernetesProgram(), server.#flags());
    await waitFor('the API server is ready', () => server.#isReady(), 60_000);
    return server;
  }

  /** Deployments then get their ReplicaSets, and these their pods, which pod security admits or refuses. */
  startControllers(...names: readonly string[]): void {
    this.#spawn(kubernetesProgram(), [
      'controller-manager',
      `--kubeconfig=${this.kubeconfig}`,
      `--controllers=${names.join(',')}`,
      '--leader-elect=false',
      '--secure-port=0',
      '--concurrent-gc-syncs=2',
    ]);
  }

  kubectl(...args: readonly string[]): Promise<Finished> {
    return this.run(KUBECTL, args);
  }

  /** As `kubectl apply`, which here refuses fields that the API does not know. */
  apply(manifests: string, namespace: string, ...args: readonly string[]): Promise<Finished> {
    return this.run(
      KUBECTL,
      ['apply', '--validate=strict', '-f', '-', '--namespace', namespace, ...args],
      manifests,
    );
  }

  /** Runs a client of it, to whatever end, with the input on its standard input. */
  run(command: string, args: readonly string[], input = ''): Promise<Finished> {
    const env = { ...process.env, KUBECONFIG: this.kubeconfig, HOME: this.folder };
    return new Promise(resolve => {
      const child = execFile(command, [...args], { env, maxBuffer: 1e8 }, (_, out, err) =>
        resolve({ code: child.exitCode ?? -1, out, err }),
      );
      child.stdin?.end(input);
    });
  }

  async close(): Promise<void> {
    for (const child of this.#processes) child.kill('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }

  #writeFiles(): void {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    writeFileSync(this.#file('accounts.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(this.#file('tokens.csv'), `${TOKEN},admin,1,system:masters\n`);
    const clusters = [
      { name: 'test', cluster: { server: `https://127.0.0.1:${PORT}`, 'insecure-skip-tls-verify': true } },
    ];
    const users = [{ name: 'admin', user: { token: TOKEN } }];
    const contexts = [{ name: 'test', context: { cluster: 'test', user: 'admin' } }];
    const config = { apiVersion: 'v1', kind: 'Config', clusters, users, contexts, 'current-context': 'test' };
    writeFileSync(this.kubeconfig, JSON.stringify(config), { mode: 0o600 });
  }

  #flags(): string[] {
    const key = this.#file('accounts.key');
    return [
      'apiserver',
      ...[`--etcd-servers=${ETCD}`, '--service-cluster-ip-range=10.96.0.0/16', '--authorization-mode=RBAC'],
      ...[
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-signing-key-file=${key}`,
      ],
      ...[`--service-account-key-file=${key}`, `--token-auth-file=${this.#file('tokens.csv')}`],
      ...[
        `--cert-dir=${this.folder}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${PORT}`,
        '--advertise-address=192.0.2.1',
      ],
      ...['--disable-admission-plugins=ServiceAccount', '--endpoint-reconciler-type=none'],
    ];
  }

  async #isReady(): Promise<boolean> {
    const ended = this.#processes.some(
      ({ exitCode, signalCode }) => exitCode !== null || signalCode !== null,
    );
    if (ended) throw new Error(`a server ended at start:\n${this.#log.slice(-4_000)}`);
    const { code } = await this.kubectl('get', '--raw=/readyz');
    return code === 0;
  }

  #file(name: string): string {
    return join(this.folder, name);
  }

  #spawn(command: string, args: readonly string[]): void {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', bytes => {
        this.#log = (this.#log + String(bytes)).slice(-100_000);
      });
    this.#processes.push(child);
  }
}
