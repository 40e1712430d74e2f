import { didYouMean } from '../config/index.ts';
import { escapeUnseen, readVersion } from '../core/index.ts';
import { type Command, type CommandOutput, ExitCode, UsageError } from './command.ts';

export type { CommandOutput } from './command.ts';
export { nameSourcesInStacks } from './stack-sources.ts';

/** A command as `weir --help` lists it. */
interface ListedCommand {
  readonly name: string;
  /** A few words. */
  readonly summary: string;
  load(): Promise<Command>;
}

/** Every command, loaded only when called: a health check, run every few seconds, must not load the whole gateway. */
const COMMANDS: readonly ListedCommand[] = [
  {
    name: 'serve',
    summary: 'run the gateway',
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'check',
    summary: 'report every error in the configuration',
    load: async () => (await import('./check.ts')).check,
  },
  {
    name: 'diff',
    summary: 'show what a change of the limits or the configuration changes for callers',
    load: async () => (await import('./diff.ts')).diff,
  },
  {
    name: 'test',
    summary: 'run tests of limits',
    load: async () => (await import('./test.ts')).test,
  },
  {
    name: 'explain',
    summary: 'show which route a request takes, and why',
    load: async () => (await import('./explain.ts')).explain,
  },
  {
    name: 'simulate',
    summary: 'replay access logs under other limits',
    load: async () => (await import('./simulate.ts')).simulate,
  },
  {
    name: 'suggest',
    summary: 'suggest limits from access logs',
    load: async () => (await import('./suggest.ts')).suggest,
  },
  {
    name: 'who',
    summary: 'print the pseudonym of a caller in the log',
    load: async () => (await import('./who.ts')).who,
  },
  {
    name: 'schema',
    summary: 'print the JSON Schema of a configuration file',
    load: async () => (await import('./schema.ts')).schema,
  },
  {
    name: 'health',
    summary: 'check the health of a running gateway on this machine',
    load: async () => (await import('./health.ts')).health,
  },
  {
    name: 'version',
    summary: 'print the version; --verbose: also that of Node.js, with its known holes',
    load: async () => (await import('./version.ts')).version,
  },
  {
    name: 'demo',
    summary: 'try it: an identity provider, a backend and the gateway in front of both',
    load: async () => (await import('./demo.ts')).demo,
  },
];

const HELP = `Weir, a streaming reverse-proxy gateway.

weir COMMAND [OPTIONS]

${COMMANDS.map(({ name, summary }) => `  ${name.padEnd(9)} ${summary}`).join('\n')}

Run "weir COMMAND --help" for one command.
`;

/** Runs `weir` with its command-line arguments. Resolves to the exit code. */
export function runCommandLine(args: readonly string[], { env, out, err }: CommandOutput): Promise<number> {
  // Escape control characters: printed names come from files, paths and claims, and must not control the terminal.
  return run(args, { env, out: text => out(escapeUnseen(text)), err: text => err(escapeUnseen(text)) });
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
  const listed = COMMANDS.find(({ name }) => name === word);
  if (listed === undefined) return misused(terminal, 'weir', whyNoCommand(word));
  const command = await listed.load();
  if (asksForHelp(rest)) {
    terminal.out(command.help);
    return ExitCode.ok;
  }
  try {
    return await command.run(rest, terminal);
  } catch (error) {
    if (error instanceof UsageError) return misused(terminal, `weir ${listed.name}`, error.message);
    throw error;
  }
}

function whyNoCommand(word: string | undefined): string {
  const names = COMMANDS.map(({ name }) => name);
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
