import { parseArgs } from 'node:util';

export const USAGE = `Starts an identity provider, a small backend and the gateway in front of them, and suggests what to try.

npm start [-- OPTIONS]

  --port N           where the gateway listens (8080, or a free one)
  --admin-port N     where its metrics and health are (9090, or a free one)
  --provider-port N  where the identity provider listens (8180, or a free one)
  --backend-port N   where the backend listens (3000, or a free one)
  --help             this text
`;

/** Options of the demo's command line. */
export interface Flags {
  readonly help: boolean;
  /** Null: not given. */
  readonly port: number | null;
  readonly adminPort: number | null;
  readonly providerPort: number | null;
  readonly backendPort: number | null;
}

export const FLOW_USAGE = `Walks through a whole sign-in without a browser and shows each request with its response. Uses the running demo, or starts
one if there is none. Exits with 0 if every response was as expected.

npm run demo:flow [-- OPTIONS]

  --port N  where the gateway of a running demo listens (8080)
  --help    this text
`;

/** Options of the walk's command line. */
export type FlowFlags = Pick<Flags, 'help' | 'port'>;

const STRING = { type: 'string' } as const;
const BOOLEAN = { type: 'boolean' } as const;

/** Parses the command line; returns a message if it is wrong. */
export function readFlags(parameters: readonly string[]): Flags | string {
  const options = {
    help: BOOLEAN,
    port: STRING,
    'admin-port': STRING,
    'provider-port': STRING,
    'backend-port': STRING,
  };
  return resultOrMessage(() => {
    const { values } = parseArgs({ args: [...parameters], options });
    return {
      help: values.help ?? false,
      port: readPort('--port', values.port),
      adminPort: readPort('--admin-port', values['admin-port']),
      providerPort: readPort('--provider-port', values['provider-port']),
      backendPort: readPort('--backend-port', values['backend-port']),
    };
  });
}

/** Does the same for the walk. */
export function readFlowFlags(parameters: readonly string[]): FlowFlags | string {
  return resultOrMessage(() => {
    const { values } = parseArgs({ args: [...parameters], options: { help: BOOLEAN, port: STRING } });
    return { help: values.help ?? false, port: readPort('--port', values.port) };
  });
}

function resultOrMessage<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function readPort(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new Error(`${name} takes a number from 1 to 65535, not "${text}"`);
}
