import type {
  BucketModel,
  Diagnostic,
  LoadedConfig,
  LoadResult,
  Severity,
  Snapshot,
  WrittenRoute,
} from '../config/index.ts';
import {
  areWorkersShown,
  didYouMean,
  hintsAtDefaultLimits,
  loadConfig,
  memoryInWords,
  signInProvider,
  workersInWords,
} from '../config/index.ts';
import { type System, thisMachine } from '../core/index.ts';
import { announcedScopes } from '../identity/signin/index.ts';
import { CONFIG_HELP, configFile, configOption, oneOf, readArguments } from './arguments.ts';
import { capacityInWords, capacityOf, parseLoad } from './capacity.ts';
import { type Command, ExitCode } from './command.ts';
import { asJson, asLines, isSignInOff, SIGN_IN_OFF } from './output.ts';

export const command: Command = {
  help: `Reads the configuration and the files that it names, as "weir serve" would, and reports every error; of a file
that is not valid YAML, the first one. Variables such as \${NAME} come from the environment: run the check where the gateway
will run, or set them.

weir check [FILE] [OPTIONS]

  FILE              ${CONFIG_HELP}
  --strict          fail on warnings too; hints never fail
  --offline         do not ask the providers which scopes they announce, where routes require scopes
  --capacity LOAD   say how many pods carry a load such as requests=20000,websockets=30000,callers=5000000, and what they
                    and Redis take: see docs/capacity.md
  --format FORMAT   text: one "file:line:column: what is wrong" per line; json: errors, warnings and hints (text)
  --help            show this text

Exit code: 0 no errors, 1 errors (with --strict: or warnings), 64 wrong command line.
`,
  async run(args, terminal) {
    const options = {
      ...configOption,
      strict: { type: 'boolean', default: false },
      offline: { type: 'boolean', default: false },
      capacity: { type: 'string' },
      format: { type: 'string', default: 'text' },
    } as const;
    const { values, positionals } = readArguments(args, options, ['[FILE]']);
    const { strict, offline } = values;
    const format = oneOf('--format', values.format, ['text', 'json']);
    const load = values.capacity === undefined ? null : parseLoad(values.capacity);
    const file = await configFile(positionals[0], values.config);
    const loaded = await loadConfig(file, { env: terminal.env, generation: 1, reader: 'command' });
    const result = loaded.ok ? await withHints(loaded, offline) : loaded;
    const findings = findingsOf(result);
    const passed = result.ok && !(strict && findings.warnings.length > 0);
    const capacity = load === null || !result.ok ? null : { ...load, ...capacityOf(result.snapshot, load) };
    if (format === 'json') {
      const sum = capacity === null ? {} : { capacity };
      terminal.out(asJson({ ok: passed, file, ...contentsAsJson(result), ...sum, ...findings }));
    } else {
      terminal.out(`${asText(result)}${summary(file, result, findings, passed)}\n`);
      if (capacity !== null) terminal.out(capacityInWords(capacity, capacity));
    }
    return passed ? ExitCode.ok : ExitCode.failure;
  },
};

/** Adds hints at defaults, and those that only the providers can give. */
async function withHints(result: LoadedConfig, offline: boolean): Promise<LoadedConfig> {
  const ofScopes = offline ? [] : await hintsAtScopes(result, thisMachine);
  return { ...result, hints: [...result.hints, ...hintsAtDefaultLimits(result.snapshot), ...ofScopes] };
}

interface Findings {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  readonly hints: readonly Diagnostic[];
}

function findingsOf(result: LoadResult): Findings {
  if (result.ok) return { errors: [], warnings: result.warnings, hints: result.hints };
  const of = (severity: Severity) => result.diagnostics.filter(found => found.severity === severity);
  return { errors: of('error'), warnings: of('warning'), hints: of('hint') };
}

function asText(result: LoadResult): string {
  return asLines(result.ok ? [...result.warnings, ...result.hints] : result.diagnostics);
}

function summary(file: string, result: LoadResult, { errors, warnings }: Findings, passed: boolean): string {
  if (result.ok && !passed) return `${byFile([warnings], file)}, which --strict does not allow`;
  if (!result.ok) return byFile([errors, warnings], file);
  const parts = ['ok', ...contents(result)];
  if (warnings.length > 0) parts.push(many(warnings.length, 'warning'));
  return `${file}: ${parts.join(', ')}`;
}

function byFile(found: readonly (readonly Diagnostic[])[], file: string): string {
  const files = [...new Set([file, ...found.flat().map(each => each.file)])];
  const counts = files.flatMap(name => {
    const own = found.map(each => each.filter(diagnostic => diagnostic.file === name));
    const parts = own.flatMap(each =>
      each.length === 0 ? [] : [many(each.length, each[0]?.severity ?? 'error')],
    );
    return parts.length === 0 ? [] : [`${name}: ${parts.join(', ')}`];
  });
  return counts.join('; ');
}

/** The contents of the configuration, each in a few words. */
function contents({ snapshot, files }: LoadedConfig): string[] {
  const [, ...limitsFiles] = files;
  return [
    many(routesIn(snapshot), 'route'),
    many(snapshot.upstreams.length, 'upstream'),
    ...(areWorkersShown(snapshot.workers) ? [`workers: ${workersInWords(snapshot.workers)}`] : []),
    ...(snapshot.identity?.providers ?? []).map(({ provider }) => `provider ${provider.issuer}`),
    ...(snapshot.identity?.apiKeys ? [many(snapshot.identity.apiKeys.lines.length, 'API key')] : []),
    ...(isSignInOff(snapshot) ? [SIGN_IN_OFF] : []),
    ...(limitsFiles.length === 0
      ? []
      : [`limits of ${limitsFiles.join(', ')} (${describeLimits(snapshot)})`]),
    `memory with all caps full: ${memoryInWords(snapshot.memory)}`,
  ];
}

function routesIn({ outline: { routes } }: Snapshot): number {
  return new Set(routes.map(({ value }) => value)).size;
}

function describeLimits({ limits: { buckets }, outline }: Snapshot): string {
  const tried = triedBuckets(buckets);
  const lines = Object.keys(outline.limits.routes).length;
  const onTrial = tried === 0 ? '' : `, ${tried} in shadow`;
  return `${many(buckets.length, 'bucket')} on ${many(lines, 'line')}${onTrial}`;
}

/** Counts the buckets under test: with limits in shadow, or with limits for a share of the callers. */
function triedBuckets(buckets: readonly BucketModel[]): number {
  const isTried = ({ rollout, exemptSets }: BucketModel) =>
    rollout !== null || exemptSets.all.some(({ shadow }) => shadow !== null);
  return buckets.filter(isTried).length;
}

function contentsAsJson(result: LoadResult): object {
  if (!result.ok) return {};
  const { files, snapshot } = result;
  const providers = (snapshot.identity?.providers ?? []).map(({ provider }) => provider.issuer);
  return {
    files,
    routes: routesIn(snapshot),
    upstreams: snapshot.upstreams.length,
    workers: snapshot.workers,
    memory: snapshot.memory,
    descriptors: snapshot.descriptors,
    provider: providers[0] ?? null,
    signIn: signInProvider(snapshot.identity)?.provider.issuer ?? null,
    providers,
    buckets: snapshot.limits.buckets.length,
    bucketsInShadow: triedBuckets(snapshot.limits.buckets),
  };
}

function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** Maximum time that a check waits for the providers: they may be unreachable from here. */
const MAX_WAIT_MS = 3_000;

/**
 * Hints at required scopes that no provider announces in its discovery document. Sends no requests if no route requires any.
 * Gives no hints unless every provider answers. They are only hints, since providers need not announce every scope (OpenID
 * Connect Discovery 1.0, 3).
 */
export async function hintsAtScopes(
  { snapshot: { identity, outline } }: LoadedConfig,
  system: Pick<System, 'clock' | 'network'>,
): Promise<readonly Diagnostic[]> {
  const requiring = outline.routes.filter(({ value }) => (value.requirement?.scopes.length ?? 0) > 0);
  const hasProviders = identity !== null && identity.providers.length > 0;
  if (!hasProviders || requiring.length === 0) return [];
  const all = await Promise.all(
    identity.providers.map(({ provider }) =>
      announcedScopes({ ...provider, timeoutMs: Math.min(provider.timeoutMs, MAX_WAIT_MS) }, system),
    ),
  );
  if (all.some(scopes => scopes === null)) return [];
  const announced = [...new Set(all.flatMap(scopes => scopes ?? []))];
  return requiring.flatMap(route => hintsAt(route, announced));
}

function hintsAt({ value, place }: WrittenRoute, announced: readonly string[]): Diagnostic[] {
  const missing = (value.requirement?.scopes ?? []).filter(scope => !announced.includes(scope));
  return missing.map(scope => ({
    file: place.file,
    line: place.line,
    column: 1,
    message: `no provider announces the scope "${scope}" that this route requires${didYouMean(scope, announced)}: callers may not be able to get it`,
    severity: 'hint',
  }));
}
