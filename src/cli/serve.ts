import { loadConfig, RESTART_KEYS } from '../config/index.ts';
import { CONFIG_HELP, configFile, configOption, readArguments } from './arguments.ts';
import { type Command, UsageError } from './command.ts';
import { reportErrors } from './output.ts';
import { ReloadSignal } from './reload-signal.ts';

export const command: Command = {
  help: `Runs the gateway until SIGTERM or SIGINT. It then finishes the requests in flight, for at most the time that "shutdown"
in the configuration allows; a second signal stops it immediately. It logs to standard output, one JSON object per line.

It reads the configuration again when a file changes and on SIGHUP. A valid configuration takes effect at once; errors
are logged and change nothing. Changes of these keys take effect after a restart, and "/status" on the admin listener lists
them until then: ${RESTART_KEYS.gateway.join(', ')}. So do ${RESTART_KEYS.limits.join(' and ')} of limits.yaml.

weir serve [FILE] [OPTIONS]

  FILE      ${CONFIG_HELP}
  --help    show this text

Exit code:
  0         stopped after all requests had finished
  1         could not start, for example because a port is in use
  64        wrong command line
  75        stopped before all requests had finished, when the drain time was over
  78        the configuration has errors; they are on standard error
  130, 143  stopped immediately by a second SIGINT or SIGTERM
`,
  async run(args, terminal) {
    const address = args.find(arg => /^(?:-p|--port|--host|--listen|--address|--bind)(?:=|$)/.test(arg));
    if (address !== undefined)
      throw new UsageError(`unknown option "${address}": set "listen.http" in the configuration instead`);
    const { values, positionals } = readArguments(args, configOption, ['[FILE]']);
    const reloads = new ReloadSignal();
    const file = await configFile(positionals[0], values.config);
    const config = await loadConfig(file, { env: terminal.env, generation: 1 });
    if (!config.ok) return reportErrors(terminal, config.diagnostics);
    // Load the data plane only now: a configuration with errors is reported faster without it.
    const { runGateway } = await import('./run-gateway.ts');
    return runGateway(file, config, terminal, reloads);
  },
};
