import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { formatHostPort, type HostPort, readAdmin } from '../config/index.ts';
import { CONFIG_HELP, configFile, configOption, readArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { ExitCode } from './exit-code.ts';

const TIMEOUT_MS = 3_000;
/** A gateway that listens on all addresses of the machine is asked at this one. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

interface Health {
  readonly status: number;
  readonly body: string;
}

export const health: Command = {
  help: `Asks the admin listener of the gateway that runs with this configuration, for health checks of containers. Needs no shell
and no curl. Reads "listen.admin" alone: errors elsewhere in the file do not make a running gateway unwell.

weir health [FILE] [OPTIONS]

  FILE      ${CONFIG_HELP}
  --ready   ask whether it is ready for requests (/readyz), not just whether it responds (/healthz)
  --help    show this text

Exit code: 0 it is, 1 it is not or cannot be asked, 64 wrong command line.
`,
  async run(args, terminal) {
    const options = { ...configOption, ready: { type: 'boolean', default: false } } as const;
    const { values, positionals } = readArguments(args, options, ['[FILE]']);
    const file = await configFile(positionals[0], values.config);
    const admin = await readAdmin(file, terminal.env);
    const fail = (message: string): number => {
      terminal.err(`weir health: ${message}\n`);
      return ExitCode.failure;
    };
    if (admin.kind === 'unknown') return fail(admin.message);
    if (admin.kind === 'off') return fail(`listen.admin of ${file} is off: there is nothing to ask`);
    const address = { ...admin.address, host: LOOPBACK[admin.address.host] ?? admin.address.host };
    try {
      const { status, body } = await ask(address, admin.tls, values.ready ? '/readyz' : '/healthz');
      if (status !== 200) return fail(`${status} ${body.trim()}`);
      terminal.out(body);
      return ExitCode.ok;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return fail(
        `${formatHostPort(address)}, where listen.admin of ${file} is, gave no response: ${reason}`,
      );
    }
  },
};

/** Rejects when no response comes in time. Over TLS any certificate will do: its names need not hold on this machine. */
async function ask({ host, port }: HostPort, tls: boolean, path: string): Promise<Health> {
  const options = { host, port, path, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const request = tls ? requestHttps({ ...options, rejectUnauthorized: false }) : requestHttp(options);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject).end();
  });
  return { status: response.statusCode ?? 0, body: await text(response) };
}
