import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { type ConfigPart, type GatewaySettings, writeGatewayConfig } from './gateway.ts';
import { atEnd } from './lifetime.ts';
import { TestGateway } from './test-gateway.ts';
import { waitFor } from './wait.ts';
import { bundledScript } from './weir-bundle.ts';

/** A gateway as a process of its own: for signals, exit codes and its memory. */
export class GatewayProcess extends TestGateway {
  readonly process: ChildProcess;
  /** Its gateway.yaml, whose changes it follows. */
  readonly configFile: string;
  /** Resolves when the process is gone, with its exit code or the signal that killed it. */
  readonly exit: Promise<number | NodeJS.Signals>;
  /** What it wrote to standard output and standard error. */
  output = '';

  constructor(process: ChildProcess, configFile: string, port: number, adminPort: number) {
    super(port, adminPort);
    this.process = process;
    this.configFile = configFile;
    this.exit = once(process, 'exit').then(([code, signal]) => code ?? signal);
    const collect = (text: Buffer): void => {
      this.output += text.toString();
    };
    process.stdout?.on('data', collect);
    process.stderr?.on('data', collect);
  }

  get running(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name);
  }

  /** Resident memory. */
  async memoryBytes(): Promise<number> {
    // Tests that look often would spend more on `ps` than on what they look at.
    if (process.platform === 'linux') {
      const status = await readFile(`/proc/${this.process.pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    }
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(this.process.pid)]);
    return Number(stdout) * 1024;
  }
}

/** How the process is started. */
export interface Launch {
  /** A descriptor for its standard output. Default: a pipe, which `output` collects. */
  readonly stdout?: number;
  /** Commands of bash that run first, such as `ulimit`. */
  readonly before?: string;
  /** Whether clients may speak HTTP/2 in cleartext. Default: HTTP/1.1 alone. */
  readonly h2c?: boolean;
  /** The keys of `listen.http.tls`. Default: cleartext. */
  readonly tls?: ConfigPart;
}

/** Starts `weir serve` and waits until it is ready. The end of the running test kills it. */
export async function startGatewayProcess(
  settings: GatewaySettings,
  { stdout, before = 'true', h2c = false, tls }: Launch = {},
): Promise<GatewayProcess> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const listen = {
    http: { address: `127.0.0.1:${port}`, h2c, ...(tls && { tls }) },
    admin: `127.0.0.1:${adminPort}`,
  };
  const path = await writeGatewayConfig({ ...settings, config: { listen, ...settings.config } });
  const words = [process.execPath, await bundledScript(), 'serve', '--config', path];
  const child = spawn('bash', ['-c', `${before}; exec "$@"`, 'bash', ...words], {
    stdio: ['pipe', stdout ?? 'pipe', 'pipe'],
  });
  const gateway = new GatewayProcess(child, path, port, adminPort);
  atEnd(async () => {
    child.kill('SIGKILL');
    await gateway.exit;
  });
  const isReady = async (): Promise<boolean> => {
    if (!gateway.running) throw new Error(`the gateway ended at start: ${gateway.output}`);
    const ready = await gateway.admin('/readyz').catch(() => null);
    return ready?.status === 200;
  };
  // A process takes its time to start on a machine that is busy.
  await waitFor('the gateway is ready', isReady, 240_000);
  return gateway;
}
