// `npm start`: a backend and the gateway in front of it, in one process. Not part of the published package.
import { resolve } from 'node:path';
import { type App, startApp } from '../app.ts';
import { formatProblem, loadConfig } from '../config/index.ts';
import { systemClock } from '../core/index.ts';
import { makeLogger, standardOutput } from '../observe/index.ts';
import { startBackend } from './backend.ts';
import { readFlags, USAGE } from './flags.ts';
import { choosePort, PortTaken } from './ports.ts';
import { type DemoPorts, welcome } from './welcome.ts';

const CONFIG = resolve(import.meta.dirname, '../../config/demo/gateway.yaml');
/** `EX_USAGE` of sysexits.h. */
const EXIT_USAGE = 64;

const output = standardOutput();
process.exitCode = await run(process.argv.slice(2));

/** Runs the demo until a signal ends it. Returns the exit code. */
async function run(parameters: readonly string[]): Promise<number> {
  const flags = readFlags(parameters);
  if (typeof flags === 'string') {
    console.error(`${flags}\n\n${USAGE}`);
    return EXIT_USAGE;
  }
  if (flags.help) {
    console.log(USAGE);
    return 0;
  }
  try {
    await serve({
      gateway: await choosePort(flags.port, 8080),
      admin: await choosePort(flags.adminPort, 9090),
      backend: await choosePort(flags.backendPort, 3000),
    });
    return 0;
  } catch (error) {
    if (!(error instanceof PortTaken)) throw error;
    console.error(error.message);
    return 1;
  }
}

async function serve(ports: DemoPorts): Promise<void> {
  const backend = await startBackend(ports.backend.port, systemClock);
  const gateway = await startGateway(ports);
  console.log(welcome(ports));
  await signal();
  console.log('\nStopping.');
  await gateway.drain();
  await backend.close();
  await output.flush();
}

async function startGateway({ gateway, admin, backend }: DemoPorts): Promise<App> {
  const env = {
    ...process.env,
    GATEWAY_PORT: `${gateway.port}`,
    ADMIN_PORT: `${admin.port}`,
    BACKEND_PORT: `${backend.port}`,
  };
  const config = await loadConfig(CONFIG, { env, generation: 1 });
  if (!config.ok) throw new Error(config.problems.map(formatProblem).join('\n'));
  const { snapshot } = config;
  return startApp(snapshot, { clock: systemClock, log: makeLogger(snapshot.log.level, output) });
}

/** Resolves at the first signal to end. Further ones change nothing: a terminal and npm may both send one. */
function signal(): Promise<void> {
  return new Promise(done => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => done());
  });
}
