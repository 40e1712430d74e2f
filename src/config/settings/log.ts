import { z } from 'zod';
import { reuseInSteps, type Steps } from '../../core/index.ts';
import type { LoggingOptions, PathNaming } from '../../observe/index.ts';
import { mainValue } from '../../wire/http/index.ts';
import type { ConfigFile } from '../file/index.ts';
import type { KeptModels } from '../kept-parts.ts';
import { HostNames, PathWords } from '../routing/index.ts';
import { choice, list, optionalFile, section, word, yesOrNo } from '../values/index.ts';
import { limits } from './limits.ts';
import { routes } from './routes.ts';
import { readKeyFile } from './secret-files.ts';
import { setting } from './setting.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export const log = setting({
  keys: {
    log: section('The log on standard output, one JSON object per line.', {
      level: word(LEVELS).prefault('info').describe('The lowest level that is written.'),
      access: yesOrNo(true).describe('Whether to write one line per request.'),
      fields: list(
        z.literal('user_agent', { error: 'expected user_agent' }),
        'expected a list such as [user_agent]',
      ).describe('Further fields of access lines: user_agent, the name that a client gives itself.'),
      paths: choice(['masked', 'plain']).describe(
        'How access lines write paths. masked: a pseudonym for each segment that a client chose; plain: as they are, without the query, but for those of webhooks, and also those that were refused with 400.',
      ),
      pseudonym_key_file: optionalFile().describe(
        'A file with the key for the pseudonyms of callers in the log, at least 32 characters. Relative to this file. Left out: a random key per process, so that pseudonyms change at each start.',
      ),
    }),
  },
  read: async file => ({ pseudonymKey: await readPseudonymKey(file) }),
  withoutSecrets: () => ({ pseudonymKey: null }),
  *compile({ log }, { compiled, before, ownRoutes }, { pseudonymKey }): Steps<LogPart> {
    const { entries } = (yield* compiled(routes)).keptRoutes;
    const lines = (yield* compiled(limits)).keptLines.part;
    const patterns = [
      ...[...entries, ...ownRoutes].map(({ pattern }) => pattern),
      ...lines.patterns.values(),
    ];
    const keptWords = yield* reuseInSteps(before?.keptWords, patterns, () => PathWords.inSteps(patterns));
    return {
      keptWords,
      log: Object.freeze({
        level: log.level,
        access: log.access,
        pseudonymKey,
        plainPaths: log.paths === 'plain',
        userAgent: log.fields.includes('user_agent'),
        paths: pathNaming(keptWords.part),
        hosts: HostNames.in(patterns.map(pattern => ({ pattern }))),
      }),
    };
  },
});

interface LogPart extends Pick<KeptModels, 'keptWords'> {
  readonly log: LogModel;
}

interface LogModel extends Omit<LoggingOptions, 'remembered'> {
  readonly level: (typeof LEVELS)[number];
  /** Key of the pseudonyms of callers and main values; `null` if this process makes a random one. */
  readonly pseudonymKey: Buffer | null;
  readonly plainPaths: boolean;
  readonly userAgent: boolean;
  /** The hosts named by routes and limits; `null` if there are none. */
  readonly hosts: HostNames | null;
}

export const PSEUDONYM_KEY = ['log', 'pseudonym_key_file'];

/** `log` for those who need no other key of it. */
export const pseudonymKeySchema = z
  .object(log.keys.log.unwrap().pick({ pseudonym_key_file: true }).shape)
  .prefault({});

/**
 * Reads the key from the file that `log.pseudonym_key_file` names; a guessed key would reveal the callers behind the pseudonyms.
 * Returns `null` if none is named, or if it is unusable, which was reported.
 */
export async function readPseudonymKey(file: ConfigFile): Promise<Buffer | null> {
  const text = await readKeyFile(file, PSEUDONYM_KEY, 'key');
  return text === null ? null : Buffer.from(text);
}

/**
 * Names paths in the log by the literals of all routes, including those of limits.yaml. A segment is named by the value that a
 * main parameter would have there, so that a replay can count by another parameter.
 */
function pathNaming(words: PathWords): PathNaming {
  return {
    rewrite: (path, isCall, name) =>
      words.rewrite(path, isCall, segment => name(mainValue(segment) ?? segment)),
  };
}
