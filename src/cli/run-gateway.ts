import type { LoadedConfig, Snapshot } from '../config/index.ts';
import { areWorkersShown, formatDiagnostic, memoryInWords, workersInWords } from '../config/index.ts';
import { formatHostPort, readVersion, thisMachine } from '../core/index.ts';
import { type Logger, MissingPackages, makeLogger, standardOutput } from '../observe/index.ts';
import { type App, startAlone } from '../process/app/index.ts';
import { loadInThread } from '../process/loading/index.ts';
import {
  collectInMainThread,
  collectOnOneThread,
  collectWhatStartingLeft,
  startWithWorkers,
  threadHost,
} from '../process/workers/index.ts';
import { type CommandOutput, ExitCode } from './command.ts';
import { isSignInOff, SIGN_IN_OFF } from './output.ts';
import type { ReloadSignal } from './reload-signal.ts';

/**
 * Runs a gateway until its drain has ended.
 *
 * @param file the configuration's name, for the log.
 * @returns the exit code.
 */
export async function runGateway(
  file: string,
  loaded: LoadedConfig,
  terminal: CommandOutput,
  reloads: ReloadSignal,
): Promise<number> {
  collectOnOneThread();
  const { snapshot, warnings } = loaded;
  const output = standardOutput();
  const log = makeLogger(snapshot.log.level, output);
  for (const warning of warnings)
    log.warn({ warning: formatDiagnostic(warning) }, 'the configuration has a warning');
  let app: App | null = null;
  const stop = listenForStop(async () => {
    await app?.collectLog();
    await output.flush();
  });
  try {
    const source = { path: file, env: terminal.env, loaded, load: loadInThread() };
    const options = { system: thisMachine, log, source };
    const { count } = snapshot.workers;
    app = await (count === 1
      ? startAlone(snapshot, { ...options, beforeServing: collectWhatStartingLeft })
      : startWithWorkers({ ...options, beforeServing: collectInMainThread }, threadHost(count)));
  } catch (error) {
    await output.flush();
    terminal.err(`weir serve: ${whyNotStarted(error)}\n`);
    return ExitCode.failure;
  }
  logAddresses(log, app, file, snapshot);
  reloads.answer(() => void app?.reload());
  for (const signal of ['SIGUSR1', 'SIGUSR2'])
    process.on(signal, () => log.warn({ signal }, 'this signal does nothing: SIGHUP reads the files again'));
  await output.flush();
  // Do not await it: a waiting call would keep the loaded configuration in memory as long as the gateway runs.
  return untilStopped(app, stop, log, output);
}

async function untilStopped(
  app: App,
  stop: Promise<string>,
  log: Logger,
  output: { flush(): Promise<unknown> },
): Promise<number> {
  const [signal, cause] = await Promise.race([
    stop.then(by => [by, null] as const),
    app.failed.then(why => [null, why] as const),
  ]);
  if (cause !== null) log.fatal({ cause }, 'draining: workers die repeatedly');
  else log.info({ signal }, 'draining');
  const drained = await app.drain();
  if (drained) log.info('stopped');
  else log.warn('stopped before all requests were finished');
  await output.flush();
  if (cause !== null) return ExitCode.failure;
  return drained ? ExitCode.ok : ExitCode.drainTimeout;
}

function logAddresses(log: Logger, { addresses }: App, config: string, snapshot: Snapshot): void {
  const http = formatHostPort(addresses.http);
  const grpc = addresses.grpc === null ? 'off' : formatHostPort(addresses.grpc);
  const admin = addresses.admin === null ? 'off' : formatHostPort(addresses.admin);
  // Omit the redirecting listener if there is none, as in most gateways.
  const redirect = addresses.redirect === null ? {} : { redirect: formatHostPort(addresses.redirect) };
  const signIn = isSignInOff(snapshot) ? { signIn: SIGN_IN_OFF } : {};
  const workers = areWorkersShown(snapshot.workers) ? { workers: workersInWords(snapshot.workers) } : {};
  const { hash } = snapshot;
  const memory = memoryInWords(snapshot.memory);
  const versions = { version: readVersion(), node: process.versions.node };
  log.info(
    { http, ...redirect, grpc, admin, ...signIn, ...workers, memory, config, hash, ...versions },
    'listening',
  );
}

type StopSignal = 'SIGINT' | 'SIGTERM';

/**
 * Resolves to the first SIGINT or SIGTERM from now on. A second one ends the process immediately.
 *
 * @param beforeExit runs before that immediate exit; it must be quick.
 */
function listenForStop(beforeExit: () => Promise<unknown>): Promise<StopSignal> {
  return new Promise(resolve => {
    let stopping = false;
    const onSignal = (signal: StopSignal) => {
      if (stopping) {
        const code = signal === 'SIGINT' ? ExitCode.interrupted : ExitCode.terminated;
        void beforeExit().finally(() => process.exit(code));
        return;
      }
      stopping = true;
      resolve(signal);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

/** Explains to the operator why the gateway could not start; usually it cannot listen on an address. */
function whyNotStarted(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof MissingPackages) return error.message;
  const { code, syscall, address, port, hostname } = error as NodeJS.ErrnoException & {
    readonly address?: string;
    readonly port?: number;
    readonly hostname?: string;
  };
  if (syscall === 'getaddrinfo') return `cannot listen on ${hostname}: the name has no address (${code})`;
  if (syscall !== 'listen') return error.stack ?? error.message;
  const host = address?.startsWith('/') ? `unix:${address}` : (address ?? '');
  return `cannot listen on ${formatHostPort({ host, port: port ?? 0 })}: ${REASONS[code ?? ''] ?? error.message}`;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another process already listens there. Stop it, or give this gateway addresses of its own under "listen" (several on one machine: docs/more-cores.md)',
  EACCES: 'permission denied (ports below 1024 need extra privileges)',
  ENOTSOCK: 'there is a file that is not a socket',
  ENOTSUP: 'threads cannot share an address on this system: remove "workers"',
  EADDRNOTAVAIL: 'this machine has no such address',
};
