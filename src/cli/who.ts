import type { CallerClaims, PartRead } from '../config/index.ts';
import { groupName, readPart } from '../config/index.ts';
import { pseudonymOf } from '../observe/index.ts';
import { type AddressKeying, addressKey, isEmbedded } from '../wire/http/index.ts';
import { CONFIG_HELP, configFile, configOption, oneOf, readArguments } from './arguments.ts';
import { classOf, issuerNamed, principalBy, readAddress, readClaims } from './caller-options.ts';
import { type Command, type CommandOutput, ExitCode, UsageError } from './command.ts';
import { reportErrors } from './output.ts';

export const command: Command = {
  help: `Prints the pseudonym under which a bot, a user or a group appears in the log, computed with the key in log.pseudonym_key_file. Takes
the claims that identify the caller (access_tokens.principal, or those of a bot), exactly as in the caller's tokens; a caller has the
same pseudonym in every class.

weir who [FILE] [OPTIONS]

  FILE                ${CONFIG_HELP}
  --provider NAME     the provider of the caller's tokens, if there are several identity_providers
  --client AZP        the claim azp
  --subject SUB       the claim sub
  --claim NAME=VALUE  any other claim; once for each
  --key NAME          instead of claims: an API key, by its name
  --as CLASS          bot or user, if the same claims identify both
  --group VALUE       instead of claims: a group of limits.yaml, by the value of its claim, as under "groups" in the log
  --address IP        instead of claims: how a client without a token appears, an IPv6 one by ipv6_prefix of the configuration
  --help              show this text

  weir who --client web --subject 5f0c...
  jq -c --arg who "$(weir who --client web --subject 5f0c...)" 'select(.caller == $who)' weir.log

Exit code: 0 printed, 1 no pseudonym can be computed, 64 wrong command line, 78 the configuration has errors.
`,
  async run(args, terminal) {
    const options = {
      ...configOption,
      provider: { type: 'string' },
      client: { type: 'string' },
      subject: { type: 'string' },
      claim: { type: 'string', multiple: true },
      as: { type: 'string' },
      address: { type: 'string' },
      key: { type: 'string' },
      group: { type: 'string' },
    } as const;
    const { values, positionals } = readArguments(args, options, ['[FILE]']);
    const claims = readClaims(values);
    const wanted = {
      provider: values.provider ?? null,
      kind: values.as === undefined ? null : oneOf('--as', values.as, ['bot', 'user']),
    };
    const isAddress = wanted.provider === null && wanted.kind === null && claims.size === 0;
    if (values.address !== undefined && !isAddress)
      throw new UsageError(
        '--address cannot be combined with other options: a client with a token is known by its claims',
      );
    if (values.address !== undefined) {
      const address = readAddress(values.address, '--address');
      return printAddress(address, positionals[0], values.config, terminal);
    }
    const { group } = values;
    if (
      group !== undefined &&
      (claims.size > 0 || wanted.kind !== null || values.address !== undefined || group === '')
    )
      throw new UsageError('--group takes the value of a claim, and goes with --provider alone');
    if (claims.size === 0 && group === undefined)
      throw new UsageError(
        'say who: --client AZP --subject SUB, --claim NAME=VALUE, --key NAME, --group VALUE or --address IP',
      );
    const file = await configFile(positionals[0], values.config);
    const callers = await readPart('callers', file, terminal.env);
    if (callers.ok) {
      const keyOf = (classes: readonly CallerClaims[]) =>
        group === undefined
          ? principalBy(classOf(classes, claims, wanted), claims)
          : groupName(group, issuerNamed(classes, wanted.provider));
      return print(file, callers, keyOf, terminal);
    }
    return reportErrors(terminal, callers.diagnostics);
  },
};

function print(
  file: string,
  { classes, pseudonymKey }: Extract<PartRead<'callers'>, { readonly ok: true }>,
  keyOf: (classes: readonly CallerClaims[]) => string,
  terminal: CommandOutput,
): number {
  if (classes.length === 0) {
    terminal.err(`${file}: has no identity provider, so every caller is an address: use --address\n`);
    return ExitCode.failure;
  }
  const key = keyOf(classes);
  if (pseudonymKey === null) {
    terminal.err(`${file}: ${WITHOUT_KEY}\n`);
    return ExitCode.failure;
  }
  terminal.out(`${pseudonymOf(pseudonymKey, key)}\n`);
  return ExitCode.ok;
}

const WITHOUT_KEY = `log.pseudonym_key_file is not set, so each process makes a random key and nobody can compute its pseudonyms.
Write a key with "openssl rand -base64 32 > pseudonym-key" and name that file there: callers get their new names at the next reload.`;

/** Prints how an address appears: according to the given configuration, or to that of this folder if it is valid. */
async function printAddress(
  address: string,
  word: string | undefined,
  option: string | undefined,
  terminal: CommandOutput,
): Promise<number> {
  const isNamed = word !== undefined || option !== undefined;
  const file = isNamed ? await configFile(word, option) : await configFile(word, option).catch(() => null);
  const read = file === null ? null : await readPart('keying', file, terminal.env);
  if (isNamed && read?.ok === false) return reportErrors(terminal, read.diagnostics);
  terminal.out(describeAddress(address, read?.ok === true ? read.keying : null));
  return ExitCode.ok;
}

/** `keying`: `null` if unknown. */
function describeAddress(address: string, keying: AddressKeying | null): string {
  const key = addressKey(address, keying ?? undefined);
  const unsure =
    keying === null && !isEmbedded(address, key) ? ', unless limits.yaml has another ipv6_prefix' : '';
  const counted = key === address ? '' : `. Limits and restriction lines use ${key} instead${unsure}.`;
  return `${address}: addresses have no pseudonym, "client" in the log is the address itself${counted}\n`;
}
