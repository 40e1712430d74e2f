import { formatDiagnostic, loadConfig, RESTART_KEYS } from '../config/index.ts';
import { CONFIG_HELP, configFile, configOption, readArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { ExitCode } from './exit-code.ts';

export const serve: Command = {
  name: 'serve',
  summary: 'run the gateway',
  help: `Runs the gateway until SIGTERM or SIGINT. Then it finishes the requests in flight, for as long as "shutdown" in the
configuration allows; a second signal ends it at once. It logs to standard output, one JSON object a line.

When a file of the configuration changes, and at SIGHUP, it reads all of them again: without mistakes they serve from then on,
with mistakes these are logged and nothing changes. A change of these keys waits for a restart, and "/status" on the admin
listener shows it: ${RESTART_KEYS.join(', ')}.

weir serve [FILE] [OPTIONS]

  FILE      ${CONFIG_HELP}
  --help    this text

Exit code:
  0         all requests were finished
  1         it could not start, for example because a port is in use
  64        the command line makes no sense
  75        time ran out before all requests were finished
  78        the configuration has mistakes; they are on standard error
  130, 143  ended at once by a second SIGINT or SIGTERM
`,
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, configOption, ['[FILE]']);
    const file = await configFile(positionals[0], values.config);
    const config = await loadConfig(file, { env: terminal.env, generation: 1 });
    if (!config.ok) {
      for (const diagnostic of config.diagnostics) terminal.err(`${formatDiagnostic(diagnostic)}\n`);
      return ExitCode.configuration;
    }
    // The other commands need nothing of the data plane, and start faster without it.
    const { runGateway } = await import('./run-gateway.ts');
    return runGateway(file, config, terminal);
  },
};
