import { randomBytes } from 'node:crypto';
import { apiKeysFileSchema } from '../config/index.ts';
import { systemClock } from '../core/index.ts';
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
    const made = apiKeyOf(randomBytes(32));
    const sha256 = digestOfApiKey(made);
    refuseFlaws({ name, sha256, class: named, bot, not_after: notAfter });
    const more = [
      ...(named === undefined ? [] : [`class: "${named}"`]),
      ...(bot === true ? ['bot: true'] : []),
      ...(notAfter === undefined ? [] : [`not_after: "${notAfter}"`]),
    ].map(member => `, ${member}`);
    terminal.out(`${made}\n`);
    terminal.out(`- { name: "${name}", sha256: "${sha256}"${more.join('')} }\n`);
    return ExitCode.ok;
  },
};

/** Rejects what the file of API keys would not accept, and an expiry in the past. */
function refuseFlaws(line: Readonly<Record<string, unknown>>): void {
  const { data = [], error } = apiKeysFileSchema.safeParse([line]);
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) {
    const option = String(issue.path[1]).replace('_', '-');
    throw new UsageError(`--${option}: ${issue.message}`);
  }
  if (data.some(({ not_after: endsAtMs }) => endsAtMs !== undefined && endsAtMs <= systemClock.epochMs()))
    throw new UsageError('--not-after is in the past');
}
