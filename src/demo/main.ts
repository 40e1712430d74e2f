// `npm start`: an identity provider, a backend and the gateway in front of them, in one process. Not part of the package.
import { makeLogger, standardOutput } from '../observe/index.ts';
import { startDemo } from './demo.ts';
import { readFlags, USAGE } from './flags.ts';
import { type ChosenPorts, choosePorts } from './ports.ts';
import { welcome } from './welcome.ts';

/** `EX_USAGE` of sysexits.h. */
const EXIT_USAGE = 64;

const output = standardOutput();
process.exitCode = await run(process.argv.slice(2));

/** Runs the demo until a signal ends it; returns the exit code. */
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
    await serve(
      await choosePorts({
        gateway: flags.port,
        admin: flags.adminPort,
        provider: flags.providerPort,
        backend: flags.backendPort,
      }),
    );
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

async function serve(chosen: ChosenPorts): Promise<void> {
  const { gateway, admin, provider, backend } = chosen;
  const ports = {
    gateway: gateway.port,
    admin: admin.port,
    provider: provider.port,
    backend: backend.port,
  };
  const demo = await startDemo(ports, makeLogger('info', output));
  console.log(welcome(chosen));
  await signal();
  console.log('\nStopping.');
  await demo.close();
  await output.flush();
}

/** Resolves at the first SIGINT or SIGTERM. Ignores more of them, because a terminal and npm may both send one. */
function signal(): Promise<void> {
  return new Promise(done => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => done());
  });
}
