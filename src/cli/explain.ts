import { didYouMean, formatDiagnostic, loadConfig } from '../config/index.ts';
import { asShape, EXPLAINED_METHODS, explain as explainRequest } from '../explain/index.ts';
import { CONFIG_HELP, configFile, configOption, oneOf, readArguments } from './arguments.ts';
import { type Command, UsageError } from './command.ts';
import { ExitCode } from './exit-code.ts';
import { callerIn, readCaller } from './explained-caller.ts';
import { readClaims } from './read-claims.ts';
import { formatRows } from './rows.ts';

export const explain: Command = {
  help: `Shows what the gateway would do with a request: the canonical path, the route and upstream with their policies (or
that the gateway serves it itself), the bucket and every limit with the line that sets it, what may restrict the caller, and
which other routes match. Sends nothing.

weir explain METHOD PATH [FILE] [OPTIONS]

  METHOD              GET, POST, ..., or GRPC for a gRPC call
  PATH                as in a request line: /v1/things/7?full=yes; of a gRPC call: package.Service/Method
  FILE                ${CONFIG_HELP}
  --as CALLER         show limits for one class of callers only: bot, user or address (every class that the route allows);
                      address:IP is short for --as address --address IP
  --address IP        also show how this client address is counted
  --client AZP        show limits for one bot or user: the claim azp,
  --subject SUB       the claim sub,
  --claim NAME=VALUE  and any other claim of access_tokens.principal; once for each
  --provider NAME     whose claims these are, where there are several identity_providers
  --format FORMAT     text, or json as the admin API returns it at /api/explain (text)
  --help              show this text

Exit code: 0 a route or the gateway itself serves it, 1 the gateway refuses it or no route matches, 64 wrong command line,
78 the configuration has errors.
`,
  async run(args, terminal) {
    const options = {
      ...configOption,
      as: { type: 'string' },
      address: { type: 'string' },
      client: { type: 'string' },
      subject: { type: 'string' },
      claim: { type: 'string', multiple: true },
      provider: { type: 'string' },
      format: { type: 'string', default: 'text' },
    } as const;
    const { values, positionals } = readArguments(args, options, ['METHOD', 'PATH', '[FILE]']);
    const [method = '', target = '', word] = positionals;
    checkMethod(method);
    const format = oneOf('--format', values.format, ['text', 'json']);
    const asked = readCaller(values.as, values.address, readClaims(values), values.provider);
    const file = await configFile(word, values.config);
    const config = await loadConfig(file, { env: terminal.env, generation: 1, mayLackSecrets: true });
    if (!config.ok) {
      for (const diagnostic of config.diagnostics) terminal.err(`${formatDiagnostic(diagnostic)}\n`);
      return ExitCode.configuration;
    }
    const { snapshot } = config;
    const request = { method, target, caller: callerIn(asked, snapshot.identity) };
    const explanation = explainRequest(request, snapshot);
    if (format === 'json') terminal.out(`${JSON.stringify(asShape(request, explanation), null, 2)}\n`);
    else terminal.out(`${method} ${target}\n\n${formatRows(explanation.rows)}`);
    return explanation.taken ? ExitCode.ok : ExitCode.failure;
  },
};

function checkMethod(method: string): void {
  if (EXPLAINED_METHODS.includes(method)) return;
  throw new UsageError(`"${method}" is not a method${didYouMean(method, EXPLAINED_METHODS)}`);
}
