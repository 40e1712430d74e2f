import { type App, startApp } from '../app.ts';
import { formatHostPort, formatProblem, loadConfig } from '../config/index.ts';
import { systemClock } from '../core/index.ts';
import { makeLogger, standardOutput } from '../observe/index.ts';
import { configOption, DEFAULT_CONFIG, readArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { ExitCode } from './exit-code.ts';
import { listenForStop } from './stop-signals.ts';
import { readVersion } from './version.ts';
import { whyNotStarted } from './why-not-started.ts';

export const serve: Command = {
  name: 'serve',
  summary: 'run the gateway',
  help: `Runs the gateway until SIGTERM or SIGINT. Then it finishes the requests in flight, for as long as "shutdown" in the
configuration allows; a second signal ends it at once. It logs to standard output, one JSON object a line.

weir serve [OPTIONS]

  --config FILE   the configuration (${DEFAULT_CONFIG})
  --help          this text

Exit code:
  0         all requests were finished
  1         it could not start, for example because a port is in use
  64        the command line makes no sense
  75        time ran out before all requests were finished
  78        the configuration has mistakes; they are on standard error
  130, 143  ended at once by a second SIGINT or SIGTERM
`,
  async run(args, terminal) {
    const { config: file } = readArguments(args, configOption).values;
    const config = await loadConfig(file, { env: terminal.env, generation: 1 });
    if (!config.ok) {
      for (const problem of config.problems) terminal.err(`${formatProblem(problem)}\n`);
      return ExitCode.configuration;
    }
    const { snapshot, warnings } = config;
    const output = standardOutput();
    const log = makeLogger(snapshot.log.level, output);
    for (const warning of warnings) log.warn({ problem: formatProblem(warning) }, 'configuration');
    const stop = listenForStop(() => output.flushSync());

    let app: App;
    try {
      app = await startApp(snapshot, { clock: systemClock, log });
    } catch (error) {
      output.flushSync();
      terminal.err(`weir serve: ${whyNotStarted(error)}\n`);
      return ExitCode.failure;
    }
    const { http, admin } = app.addresses;
    log.info(
      {
        http: formatHostPort(http),
        admin: admin === null ? 'off' : formatHostPort(admin),
        config: file,
        hash: snapshot.hash,
        version: readVersion(),
      },
      'listening',
    );
    output.flushSync();

    log.info({ signal: await stop }, 'draining');
    const drained = await app.drain();
    log.info({ drained }, drained ? 'stopped' : 'stopped before all requests were finished');
    output.flushSync();
    return drained ? ExitCode.ok : ExitCode.drainTimeout;
  },
};
