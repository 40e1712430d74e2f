import { formatProblem, type LoadResult, loadConfig, type Problem } from '../config/index.ts';
import { configOption, DEFAULT_CONFIG, readArguments } from './arguments.ts';
import { type Command, type Terminal, UsageError } from './command.ts';
import { ExitCode } from './exit-code.ts';

export const check: Command = {
  name: 'check',
  summary: 'find every mistake in the configuration',
  help: `Reads the configuration as "weir serve" would and tells every mistake in it. Variables such as \${NAME} are taken
from the environment, so check where it will run, or set them.

weir check [OPTIONS]

  --config FILE     the file to check (${DEFAULT_CONFIG})
  --strict          warnings fail as well
  --format FORMAT   text, one line a problem: file:line:column: what is wrong; or json (text)
  --help            this text

Exit code: 0 nothing is wrong, 1 there are mistakes (with --strict: or warnings), 64 the command line makes no sense.
`,
  async run(args, terminal) {
    const options = {
      ...configOption,
      strict: { type: 'boolean', default: false },
      format: { type: 'string', default: 'text' },
    } as const;
    const { config: file, strict, format } = readArguments(args, options).values;
    if (format !== 'text' && format !== 'json') {
      throw new UsageError(`--format takes text or json, not "${format}"`);
    }
    const result = await loadConfig(file, { env: terminal.env, generation: 1 });
    const problems = result.ok ? result.warnings : result.problems;
    const passed = result.ok && !(strict && problems.length > 0);
    if (format === 'json') printJson(terminal, file, result, problems, passed);
    else printText(terminal, file, result, problems);
    return passed ? ExitCode.ok : ExitCode.failure;
  },
};

function printText(terminal: Terminal, file: string, result: LoadResult, problems: readonly Problem[]): void {
  for (const problem of problems) terminal.out(`${formatProblem(problem)}\n`);
  const mistakes = problems.filter(problem => problem.severity === 'mistake').length;
  const warnings = problems.length - mistakes;
  const parts = [
    ...(result.ok
      ? ['ok', many(result.routes.length, 'route'), many(result.snapshot.upstreams.length, 'upstream')]
      : [many(mistakes, 'mistake')]),
    ...(warnings === 0 ? [] : [many(warnings, 'warning')]),
  ];
  terminal.out(`${file}: ${parts.join(', ')}\n`);
}

function printJson(
  terminal: Terminal,
  file: string,
  result: LoadResult,
  problems: readonly Problem[],
  passed: boolean,
): void {
  const counts = result.ok
    ? { routes: result.routes.length, upstreams: result.snapshot.upstreams.length }
    : {};
  terminal.out(`${JSON.stringify({ ok: passed, file, ...counts, problems }, null, 2)}\n`);
}

function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
