import {
  apiKeysJsonSchema,
  didYouMean,
  gatewayJsonSchema,
  limitsJsonSchema,
  testJsonSchema,
} from '../config/index.ts';
import { accessLogSchema } from '../core/index.ts';
import { readArguments } from './arguments.ts';
import { type Command, ExitCode, UsageError } from './command.ts';
import { asJson } from './output.ts';

const SCHEMAS = {
  gateway: gatewayJsonSchema,
  limits: limitsJsonSchema,
  keys: apiKeysJsonSchema,
  test: testJsonSchema,
  'access-log': accessLogSchema,
} as const;

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
    if (!isSchemaName(name)) {
      throw new UsageError(`unknown schema "${name}"${didYouMean(name, Object.keys(SCHEMAS))}`);
    }
    terminal.out(asJson(SCHEMAS[name]()));
    return ExitCode.ok;
  },
};

function isSchemaName(name: string): name is keyof typeof SCHEMAS {
  return Object.hasOwn(SCHEMAS, name);
}
