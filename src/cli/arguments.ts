import { access } from 'node:fs/promises';
import { type ParseArgsConfig, type ParseArgsOptionsConfig, parseArgs } from 'node:util';

import { didYouMean } from '../config/index.ts';
import { UsageError } from './command.ts';

/** The configuration when the command line names none, in the working directory. */
const DEFAULT_CONFIG = 'gateway.yaml';

/** The option that all commands share which read the configuration. */
export const configOption = { config: { type: 'string', short: 'c' } } as const;

/** What the help of those commands says of it. */
export const CONFIG_HELP = `the configuration (./${DEFAULT_CONFIG}); also as --config FILE, -c FILE`;

/**
 * The configuration that the command line names: by a word, by --config, or by neither. Throws a UsageError where it names two,
 * or none and there is no default.
 */
export async function configFile(word: string | undefined, option: string | undefined): Promise<string> {
  if (word !== undefined && option !== undefined)
    throw new UsageError(`"${word}" and --config both name the configuration: leave out one`);
  const named = word ?? option;
  if (named === '')
    throw new UsageError('the name of the configuration is empty: is a variable of the shell not set?');
  if (named !== undefined) return named;
  const exists = await access(DEFAULT_CONFIG).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
  if (exists) return DEFAULT_CONFIG;
  throw new UsageError(
    `there is no ${DEFAULT_CONFIG} in ${process.cwd()}: name the configuration, such as /etc/weir/${DEFAULT_CONFIG}`,
  );
}

/**
 * Reads the options and words after a command's name. Throws a UsageError for what the command does not know.
 *
 * @param words names of the words that may follow, for messages; those in brackets may be left out.
 */
export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
  words: readonly string[] = [],
) {
  refuseUnknownAndDoubled(args, options);
  const parsed = parseStrictly({ args: [...args], options, strict: true, allowPositionals: true });
  const missing = words.slice(parsed.positionals.length).find(word => !word.startsWith('['));
  if (missing !== undefined) throw new UsageError(`${missing} is missing`);
  const extra = parsed.positionals[words.length];
  if (extra !== undefined) throw new UsageError(`"${extra}" is one word too many`);
  return parsed;
}

/** The message of the strict parser knows no suggestions, and of doubled options it takes the last without a word. */
function refuseUnknownAndDoubled(args: readonly string[], options: ParseArgsOptionsConfig): void {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    if (!Object.hasOwn(options, token.name)) {
      const candidates = Object.keys(options).map(name => `--${name}`);
      throw new UsageError(`unknown option "${token.rawName}"${didYouMean(token.rawName, candidates)}`);
    }
    if (seen.has(token.name)) throw new UsageError(`${token.rawName} is given twice`);
    seen.add(token.name);
  }
}

function parseStrictly<Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
  }
}
