import { didYouMean } from '../config/index.ts';
import { escapeInvisible, readVersion } from '../core/index.ts';
import { type Command, type CommandOutput, ExitCode, UsageError } from './command.ts';

export type { CommandOutput } from './command.ts';
export { nameSourcesInStacks } from './stack-sources.ts';

/** A command as listed by `weir --help`, in a few words. */
type ListedCommand = readonly [name: string, summary: string, load: () => Promise<{ command: Command }>];

/** Every command, loaded only when called: a health check, run every few seconds, must not load the whole gateway. */
const COMMANDS: readonly ListedCommand[] = [
  ['serve', 'run the gateway', () => import('./serve.ts')],
  ['check', 'report every error in the configuration', () => import('./check.ts')],
  [
    'diff',
    'show what a change of the limits or the configuration changes for callers',
    () => import('./diff.ts'),
  ],
  ['test', 'run tests of limits', () => import('./test.ts')],
  ['explain', 'show which route a request takes, and why', () => import('./explain.ts')],
  ['simulate', 'replay access logs under other limits', () => import('./simulate.ts')],
  ['suggest', 'suggest limits from access logs', () => import('./suggest.ts')],
  ['who', 'print the pseudonym of a caller in the log', () => import('./who.ts')],
  ['key', 'make an API key', () => import('./key.ts')],
  ['schema', 'print the JSON Schema of a configuration file', () => import('./schema.ts')],
  ['health', 'check the health of a running gateway on this machine', () => import('./health.ts')],
  ['version', 'print the version; --verbose: also that of Node.js', () => import('./version.ts')],
  [
    'demo',
    'try it: an identity provider, a backend and the gateway in front of both',
    () => import('./demo.ts'),
  ],
];

const HELP = `Weir, a streaming reverse-proxy gateway.

weir COMMAND [OPTIONS]

${COMMANDS.map(([name, summary]) => `  ${name.padEnd(9)} ${summary}`).join('\n')}

Run "weir COMMAND --help" for one command.
`;

/** Does the work of a thread started by `weir serve`: it serves clients, or loads a configuration for those that do. */
export async function runThread(): Promise<void> {
  const { runLoadingThread } = await import('../process/loading/index.ts');
  if (await runLoadingThread()) return;
  const { runWorkerThread } = await import('../process/workers/index.ts');
  runWorkerThread();
}

/** Runs `weir` with its command-line arguments. Resolves to the exit code. */
export function runCommandLine(args: readonly string[], { env, out, err }: CommandOutput): Promise<number> {
  // Escape control characters: printed names come from files, paths and claims, and must not control the terminal.
  return run(args, { env, out: text => out(escapeInvisible(text)), err: text => err(escapeInvisible(text)) });
}

async function run(args: readonly string[], terminal: CommandOutput): Promise<number> {
  const [word, ...rest] = args;
  if (word === '--help' || word === '-h') {
    terminal.out(HELP);
    return ExitCode.ok;
  }
  if (word === '--version') {
    terminal.out(`weir ${readVersion()}\n`);
    return ExitCode.ok;
  }
  const [name, , load] = COMMANDS.find(([name]) => name === word) ?? [];
  if (load === undefined) return misused(terminal, 'weir', whyNoCommand(word));
  const { command } = await load();
  if (asksForHelp(rest)) {
    terminal.out(command.help);
    return ExitCode.ok;
  }
  try {
    return await command.run(rest, terminal);
  } catch (error) {
    if (error instanceof UsageError) return misused(terminal, `weir ${name}`, error.message);
    throw error;
  }
}

function whyNoCommand(word: string | undefined): string {
  const names = COMMANDS.map(([name]) => name);
  if (word === undefined) return `missing command: use ${names.join(', ')}`;
  if (word === 'help') return 'unknown command "help": write weir COMMAND --help, or weir --help';
  if (word === '-v' || word === '-V') return `write weir --version, not "${word}"`;
  if (!word.startsWith('-')) return `unknown command "${word}"${didYouMean(word, names)}`;
  const suggestion = didYouMean(word, ['--help', '--version']);
  return `unknown option "${word}"${suggestion === '' ? ': options follow the command' : suggestion}`;
}

function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end).some(arg => arg === '--help' || arg === '-h');
}

function misused(terminal: CommandOutput, program: string, message: string): number {
  terminal.err(`${program}: ${message}\nRun "${program} --help" for usage.\n`);
  return ExitCode.usage;
}
