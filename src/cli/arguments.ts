import { access } from 'node:fs/promises';
import { type ParseArgsConfig, type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { didYouMean } from '../config/index.ts';
import { errorText } from '../core/index.ts';
import { UsageError } from './command.ts';

/** The configuration file in the working directory, used if the command line names none. */
const DEFAULT_CONFIG = 'gateway.yaml';

/** The option shared by all commands that read the configuration. */
export const configOption = { config: { type: 'string', short: 'c' } } as const;

/** The option --config in the help of every command that reads the configuration. */
export const CONFIG_HELP = `the configuration (./${DEFAULT_CONFIG}); also as --config FILE, -c FILE`;

/**
 * Returns the configuration file: the word, --config or the default. Throws a UsageError if both are given, or if neither is
 * and there is no default file.
 */
export async function configFile(word: string | undefined, option: string | undefined): Promise<string> {
  if (word !== undefined && option !== undefined)
    throw new UsageError(`"${word}" and --config both name the configuration: leave out one`);
  const named = word ?? option;
  if (named === '')
    throw new UsageError('the name of the configuration is empty: is a shell variable unset?');
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
 * Reads the options and words after a command's name. Throws a UsageError for anything that the command does not take.
 *
 * @param words names of the words, for messages: `[FILE]` is optional; a last name that ends in dots can be repeated
 */
export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
  words: readonly string[] = [],
) {
  refuseUnknownAndDoubled(args, options);
  const parsed = parseStrictly({ args: [...args], options, strict: true, allowPositionals: true });
  const missing = words.slice(parsed.positionals.length).find(word => !word.startsWith('['));
  if (missing !== undefined) throw new UsageError(whatIsMissing(missing, words));
  const extra = words.at(-1)?.endsWith('...') === true ? undefined : parsed.positionals[words.length];
  if (extra !== undefined) throw new UsageError(`unexpected argument "${extra}"`);
  return parsed;
}

/** Returns the value of an option with a closed list of words. Throws a UsageError for any other. */
export function oneOf<const Word extends string>(
  option: string,
  value: string,
  words: readonly [Word, ...Word[]],
): Word {
  const found = words.find(word => word === value);
  if (found !== undefined) return found;
  const list = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  throw new UsageError(
    `${option} takes ${list}, not "${value}"${/[a-z]/i.test(value) ? didYouMean(value, words) : ''}`,
  );
}

/** Rejects unknown options with a suggestion, and repeated options. The strict parser does neither. */
function refuseUnknownAndDoubled(args: readonly string[], options: ParseArgsOptionsConfig): void {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    if (!Object.hasOwn(options, token.name)) {
      const candidates = Object.keys(options).map(name => `--${name}`);
      throw new UsageError(`unknown option "${token.rawName}"${didYouMean(token.rawName, candidates)}`);
    }
    if (seen.has(token.name) && options[token.name]?.multiple !== true)
      throw new UsageError(`${token.rawName} is given twice`);
    seen.add(token.name);
  }
}

/** Returns which word is missing, and the order if there are several. */
function whatIsMissing(word: string, words: readonly string[]): string {
  return words.length === 1 ? `missing ${word}` : `missing ${word}: name ${words.join(' ')}`;
}

function parseStrictly<Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    const [message = ''] = errorText(error).split('\n');
    const [, lacking] = /^Option '(?:-\w, )?(--[\w-]+) <value>' argument missing/.exec(message) ?? [];
    throw new UsageError(lacking === undefined ? message : `${lacking} needs a value`);
  }
}
