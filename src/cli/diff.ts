import type { Change, PartRead } from '../config/index.ts';
import { changesOf, changesOfLimits, isStricter, readPart } from '../config/index.ts';
import { oneOf, readArguments } from './arguments.ts';
import { type Command, ExitCode, UsageError } from './command.ts';
import { asJson, reportErrors } from './output.ts';

export const command: Command = {
  help: `Compares two limits.yaml, or two gateway.yaml with the files they name, and says what changes for callers: bucket by
bucket and route by route, the strictest first. A gateway that reloads logs the same words.

weir diff OLD NEW [OPTIONS]

  OLD NEW           files or folders of the same kind: limits.yaml, a folder of such files, gateway.yaml, or the folder that
                    contains it; also a pipe: weir diff <(git show HEAD:limits.yaml) limits.yaml
  --format FORMAT   text: one "effect  what: now, before" per line; json: the same as a list (text)
  --help            show this text

Effects: stricter (requests that passed may be refused), looser, mixed (both, for different requests), neutral.

Exit code: 0 nothing gets stricter for anyone, 1 something does, 64 wrong command line, 78 a file has errors.
`,
  async run(args, terminal) {
    const options = { format: { type: 'string', default: 'text' } } as const;
    const { values, positionals } = readArguments(args, options, ['OLD', 'NEW']);
    const format = oneOf('--format', values.format, ['text', 'json']);
    const [before = '', now = ''] = positionals;
    const old = await readPart('outline', before, terminal.env);
    const latest = await readPart('outline', now, terminal.env);
    const changes = compare(latest, old, { now, before });
    if (changes === null)
      return reportErrors(
        terminal,
        [old, latest].flatMap(each => (each.ok ? [] : each.diagnostics)),
      );
    const stricter = isStricter(changes);
    if (format === 'json') terminal.out(asJson({ stricter, changes }));
    else terminal.out(changes.length === 0 ? 'nothing changes for callers\n' : asText(changes));
    return stricter ? ExitCode.failure : ExitCode.ok;
  },
};

/** The changes for callers; `null` if one of the two has errors. */
function compare(
  now: PartRead<'outline'>,
  before: PartRead<'outline'>,
  names: { readonly now: string; readonly before: string },
): Change[] | null {
  if (!now.ok || !before.ok) return null;
  if (now.whole === null && before.whole === null) return changesOfLimits(now.limits, before.limits);
  if (now.whole !== null && before.whole !== null) return changesOf(now.whole, before.whole);
  const [limits, whole] = now.whole === null ? [names.now, names.before] : [names.before, names.now];
  throw new UsageError(
    `${limits} has limits only and ${whole} is a whole configuration: compare two files of the same kind`,
  );
}

function asText(changes: readonly Change[]): string {
  return changes.map(({ effect, subject, text }) => `${effect.padEnd(8)}  ${subject}: ${text}\n`).join('');
}
