import { parseArgs } from 'node:util';

export const USAGE = `Starts a small backend and the gateway in front of it, and says what to try.

npm start [-- OPTIONS]

  --port N          where the gateway listens (8080, or a free one)
  --admin-port N    where its metrics and health are (9090, or a free one)
  --backend-port N  where the backend listens (3000, or a free one)
  --help            this text
`;

/** What the demo's command line may say. */
export interface Flags {
  readonly help: boolean;
  /** Null: none was asked for. */
  readonly port: number | null;
  readonly adminPort: number | null;
  readonly backendPort: number | null;
}

/** What the command line asks for, or what is wrong with it. */
export function readFlags(parameters: readonly string[]): Flags | string {
  const string = { type: 'string' } as const;
  const options = {
    help: { type: 'boolean' },
    port: string,
    'admin-port': string,
    'backend-port': string,
  } as const;
  try {
    const { values } = parseArgs({ args: [...parameters], options });
    return {
      help: values.help ?? false,
      port: readPort('--port', values.port),
      adminPort: readPort('--admin-port', values['admin-port']),
      backendPort: readPort('--backend-port', values['backend-port']),
    };
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
