import { randomBytes } from 'node:crypto';
import { apiKeyOf, digestOfApiKey } from '../identity/auth/index.ts';
import { readArguments } from './arguments.ts';
import { type Command, ExitCode, UsageError } from './command.ts';

export const command: Command = {
  help: `Makes an API key.

weir key new --name NAME [OPTIONS]

  --name NAME          the name of the caller, for limits.yaml, the log and the admin API
  --class CLASS        the class whose numbers it has
  --bot                it counts as a bot and not as a user
  --not-after MOMENT   when it stops being valid: 2027-01-31T00:00:00Z
  --help               show this text

Prints the key, which cannot be shown again, and the line for the file of api_keys, which does not contain it.

Exit code: 0, or 64 for a wrong command line.
`,
  async run(args, terminal) {
    const options = {
      name: { type: 'string' },
      class: { type: 'string' },
      bot: { type: 'boolean' },
      'not-after': { type: 'string' },
    } as const;
    const { values, positionals } = readArguments(args, options, ['new']);
    if (positionals[0] !== 'new') throw new UsageError('write weir key new --name NAME');
    const { name = '', class: named, bot, 'not-after': notAfter } = values;
    for (const [option, word] of Object.entries({ name, class: named }))
      if (word !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(word))
        throw new UsageError(
          `--${option} takes 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit`,
        );
    if (notAfter !== undefined && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)$/.test(notAfter))
      throw new UsageError('--not-after takes a moment such as 2027-01-31T00:00:00Z');
    const made = apiKeyOf(randomBytes(32));
    const more = [
      ...(named === undefined ? [] : [`class: "${named}"`]),
      ...(bot === true ? ['bot: true'] : []),
      ...(notAfter === undefined ? [] : [`not_after: "${notAfter}"`]),
    ].map(member => `, ${member}`);
    terminal.out(`${made}\n`);
    terminal.out(`- { name: "${name}", sha256: "${digestOfApiKey(made)}"${more.join('')} }\n`);
    return ExitCode.ok;
  },
};
