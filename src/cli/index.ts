import { didYouMean } from '../config/index.ts';
import { readVersion } from '../core/index.ts';
import { check } from './check.ts';
import { type Command, type CommandOutput, UsageError } from './command.ts';
import { demo } from './demo.ts';
import { diff } from './diff.ts';
import { ExitCode } from './exit-code.ts';
import { explain } from './explain.ts';
import { health } from './health.ts';
import { schema } from './schema.ts';
import { serve } from './serve.ts';
import { simulate } from './simulate/index.ts';
import { suggest } from './suggest/index.ts';
import { test } from './test.ts';
import { who } from './who.ts';

export type { CommandOutput } from './command.ts';

const COMMANDS: readonly Command[] = [
  serve,
  check,
  diff,
  test,
  explain,
  simulate,
  suggest,
  who,
  schema,
  health,
  demo,
];

const HELP = `Weir, a streaming reverse-proxy gateway.

weir COMMAND [OPTIONS]

${COMMANDS.map(({ name, summary }) => `  ${name.padEnd(9)} ${summary}`).join('\n')}

Run "weir COMMAND --help" for one command, "weir --version" for the version.
`;

/** Runs `weir` with its command-line arguments. Resolves to the exit code. */
export async function runCommandLine(args: readonly string[], terminal: CommandOutput): Promise<number> {
  const [word, ...rest] = args;
  if (word === '--help' || word === '-h') {
    terminal.out(HELP);
    return ExitCode.ok;
  }
  if (word === '--version') {
    terminal.out(`weir ${readVersion()}\n`);
    return ExitCode.ok;
  }
  const command = COMMANDS.find(({ name }) => name === word);
  if (command === undefined) return misused(terminal, 'weir', whyNoCommand(word));
  if (asksForHelp(rest)) {
    terminal.out(command.help);
    return ExitCode.ok;
  }
  try {
    return await command.run(rest, terminal);
  } catch (error) {
    if (error instanceof UsageError) return misused(terminal, `weir ${command.name}`, error.message);
    throw error;
  }
}

function whyNoCommand(word: string | undefined): string {
  const names = COMMANDS.map(({ name }) => name);
  if (word === undefined) return `missing command: use ${names.join(', ')}`;
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
