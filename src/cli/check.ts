import {
  type Diagnostic,
  formatDiagnostic,
  type LoadedConfig,
  type LoadedLimits,
  type LoadedRoute,
  type LoadResult,
  loadConfig,
  type Severity,
} from '../config/index.ts';
import { CONFIG_HELP, configFile, configOption, readArguments } from './arguments.ts';
import { type Command, UsageError } from './command.ts';
import { ExitCode } from './exit-code.ts';

export const check: Command = {
  name: 'check',
  summary: 'find every mistake in the configuration',
  help: `Reads the configuration as "weir serve" would, with the files that it names, and reports every mistake in it. Variables
such as \${NAME} are taken from the environment, so check where it will run, or set them.

weir check [FILE] [OPTIONS]

  FILE              ${CONFIG_HELP}
  --strict          warnings fail as well; hints never do
  --format FORMAT   text, one line per problem: file:line:column: what is wrong; or json (text)
  --help            this text

Exit code: 0 nothing is wrong, 1 there are mistakes (with --strict: or warnings), 64 the command line makes no sense.
`,
  async run(args, terminal) {
    const options = {
      ...configOption,
      strict: { type: 'boolean', default: false },
      format: { type: 'string', default: 'text' },
    } as const;
    const { values, positionals } = readArguments(args, options, ['[FILE]']);
    const { strict, format } = values;
    if (format !== 'text' && format !== 'json') {
      throw new UsageError(`--format takes text or json, not "${format}"`);
    }
    const file = await configFile(positionals[0], values.config);
    const result = await loadConfig(file, { env: terminal.env, generation: 1 });
    const problems = result.ok ? [...result.warnings, ...result.hints] : result.problems;
    const passed = result.ok && !(strict && result.warnings.length > 0);
    if (format === 'json') terminal.out(asJson(file, result, passed));
    else
      terminal.out(
        `${problems.map(problem => `${formatDiagnostic(problem)}\n`).join('')}${summary(file, result, passed)}\n`,
      );
    return passed ? ExitCode.ok : ExitCode.failure;
  },
};

function summary(file: string, result: LoadResult, passed: boolean): string {
  if (result.ok && !passed)
    return `${file}: ${many(result.warnings.length, 'warning')}, which --strict does not pass`;
  const parts = result.ok
    ? ['ok', ...contents(result)]
    : [many(countOf('mistake', result.problems), 'mistake')];
  const warnings = countOf('warning', result.ok ? result.warnings : result.problems);
  if (warnings > 0) parts.push(many(warnings, 'warning'));
  return `${file}: ${parts.join(', ')}`;
}

/** What there is in the configuration, in a few words each. */
function contents({ snapshot, routes, files, limits }: LoadedConfig): string[] {
  const [, ...limitsFiles] = files;
  return [
    many(writtenRoutes(routes), 'route'),
    many(snapshot.upstreams.length, 'upstream'),
    ...(snapshot.identity === null ? [] : [`provider ${snapshot.identity.provider.issuer}`]),
    ...(limitsFiles.length === 0 ? [] : [`limits of ${limitsFiles.join(', ')} (${describeLimits(limits)})`]),
  ];
}

function describeLimits({ routes }: LoadedLimits): string {
  return `${many(bucketsOf(routes), 'bucket')} on ${many(routes.length, 'line')}`;
}

/** Buckets in use. */
function bucketsOf(routes: LoadedLimits['routes']): number {
  return new Set(routes.map(({ value }) => value.bucket)).size;
}

function asJson(file: string, result: LoadResult, passed: boolean): string {
  const report = result.ok
    ? {
        files: result.files,
        routes: writtenRoutes(result.routes),
        upstreams: result.snapshot.upstreams.length,
        provider: result.snapshot.identity?.provider.issuer ?? null,
        buckets: bucketsOf(result.limits.routes),
        problems: [...result.warnings, ...result.hints],
      }
    : { problems: result.problems };
  return `${JSON.stringify({ ok: passed, file, ...report }, null, 2)}\n`;
}

/** The routes that are not the gateway's own. */
function writtenRoutes(routes: readonly LoadedRoute[]): number {
  return routes.filter(route => route.place !== null).length;
}

function countOf(severity: Severity, problems: readonly Diagnostic[]): number {
  return problems.filter(problem => problem.severity === severity).length;
}

function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
