import { didYouMean, jsonSchemaOf } from '../config/index.ts';
import { accessLogSchema } from '../core/index.ts';
import { readArguments } from './arguments.ts';
import { type Command, ExitCode, UsageError } from './command.ts';
import { asJson } from './output.ts';

const FILES = ['gateway', 'limits', 'keys', 'test'] as const;

export const command: Command = {
  help: `Prints the JSON Schema (draft 7) of a configuration file, or of a line of the access log. Editors use that of a file to
complete and explain keys: save it as a file, and name that file at the top of the configuration:

  # yaml-language-server: $schema=gateway.schema.json

weir schema [FILE]

  FILE      gateway, limits, keys for the file of api_keys, test for a file of "weir test", or access-log (gateway)
  --help    show this text

Exit code: 0, or 64 for a wrong command line.
`,
  async run(args, terminal) {
    const [name = 'gateway'] = readArguments(args, {}, ['[FILE]']).positionals;
    const file = FILES.find(each => each === name);
    if (file === undefined && name !== 'access-log')
      throw new UsageError(`unknown schema "${name}"${didYouMean(name, [...FILES, 'access-log'])}`);
    terminal.out(asJson(file === undefined ? accessLogSchema() : jsonSchemaOf(file)));
    return ExitCode.ok;
  },
};
