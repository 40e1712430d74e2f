import { errorText } from '../core/index.ts';
import { readArguments } from './arguments.ts';
import { type Command, ExitCode, UsageError } from './command.ts';

const PORT = { type: 'string' } as const;

export const command: Command = {
  help: `Starts an identity provider, a small backend and the gateway in front of them on 127.0.0.1, and suggests what to try.

weir demo [OPTIONS]

  --port N           where the gateway listens (8080, or a free one)
  --admin-port N     where its metrics and health are (9090, or a free one)
  --provider-port N  where the identity provider listens (8180, or a free one)
  --backend-port N   where the backend listens (3000, or a free one)
  --keycloak         use a real Keycloak instead of the demo's own provider: downloads it with Maven (176 MB, once), and
                     needs Java 17 or newer
  --flow             walk through a whole sign-in without a browser and show each request with its response; uses a running
                     demo (on --port N), or starts one for the walk
  --help             show this text

Exit code: 0 success, 1 a part could not start or the walk got an unexpected response, 64 wrong command line.
`,
  async run(args, terminal) {
    const options = {
      port: PORT,
      'admin-port': PORT,
      'provider-port': PORT,
      'backend-port': PORT,
      keycloak: { type: 'boolean', default: false },
      flow: { type: 'boolean', default: false },
    } as const;
    const { values } = readArguments(args, options);
    const ports = {
      gateway: readPort('port', values.port),
      admin: readPort('admin-port', values['admin-port']),
      provider: readPort('provider-port', values['provider-port']),
      backend: readPort('backend-port', values['backend-port']),
    };
    const { gateway, ...others } = ports;
    if (values.flow && Object.values(others).some(port => port !== null))
      throw new UsageError('--flow cannot be combined with a port other than --port');
    if (values.flow && values.keycloak)
      throw new UsageError(
        '--flow and --keycloak cannot be combined: start weir demo --keycloak in another terminal, then --flow',
      );
    try {
      const { runDemo, runFlow } = await loadDemo();
      if (values.flow) return (await runFlow(gateway)) ? ExitCode.ok : ExitCode.failure;
      await runDemo(ports, values.keycloak ? 'keycloak' : 'own');
      return ExitCode.ok;
    } catch (error) {
      terminal.err(`weir demo: ${errorText(error)}\n`);
      return ExitCode.failure;
    }
  },
};

function readPort(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new UsageError(`--${name} takes a number from 1 to 65535, not "${text}"`);
}

/** Loads the demo only when it is run, because its identity provider is an optional dependency. */
async function loadDemo() {
  try {
    return await import('./demo/index.ts');
  } catch (error) {
    if (!isMissingProvider(error)) throw error;
    throw new Error(
      'the demo needs the package oidc-provider, which this installation left out: npm install oidc-provider',
    );
  }
}

function isMissingProvider(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes("'oidc-provider'");
}
