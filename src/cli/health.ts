import { CONFIG_HELP, configFile, configOption, readArguments } from './arguments.ts';
import { askAdmin } from './ask-gateway.ts';
import { type Command, ExitCode } from './command.ts';

export const command: Command = {
  help: `Asks the admin listener of the gateway that runs with this configuration, for health checks of containers. Needs no shell
and no curl. Reads "listen.admin" only: errors elsewhere in the file do not fail the check of a running gateway.

weir health [FILE] [OPTIONS]

  FILE      ${CONFIG_HELP}
  --ready   ask whether it is ready for requests (/readyz), not only whether it responds (/healthz)
  --help    show this text

Exit code: 0 yes, 1 no, or no response, 64 wrong command line.
`,
  async run(args, terminal) {
    const options = { ...configOption, ready: { type: 'boolean', default: false } } as const;
    const { values, positionals } = readArguments(args, options, ['[FILE]']);
    const file = await configFile(positionals[0], values.config);
    const asked = await askAdmin(file, terminal.env, values.ready ? '/readyz' : '/healthz');
    if (asked.ok && asked.reply.status === 200) {
      terminal.out(asked.reply.body);
      return ExitCode.ok;
    }
    const message = asked.ok ? `${asked.reply.status} ${asked.reply.body.trim()}` : asked.message;
    terminal.err(`weir health: ${message}\n`);
    return ExitCode.failure;
  },
};
