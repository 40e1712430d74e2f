import { existsSync } from 'node:fs';
import { didYouMean, loadConfig } from '../config/index.ts';
import { asShape, EXPLAINED_METHODS, explain as explainRequest, isExplained } from '../explain/index.ts';
import { CONFIG_HELP, configFile, configOption, oneOf, readArguments } from './arguments.ts';
import { explainRunning, type RunningQuestion } from './ask-gateway.ts';
import { callerIn, readCaller, readClaims } from './caller-options.ts';
import { type Command, type CommandOutput, ExitCode, UsageError } from './command.ts';
import { asJson, formatRows, reportErrors } from './output.ts';

export const command: Command = {
  help: `Shows what the gateway would do with a request: the canonical path, the route and upstream with their policies (or
that the gateway serves it itself), the bucket and every limit with the line that sets it, what may restrict the caller, and
which other routes match. Sends nothing. With --running, the gateway on this machine answers: from the configuration that it uses
now, and with whether the client is restricted, since when, until when and why.

weir explain METHOD PATH [FILE] [OPTIONS]

  METHOD              GET, POST, ..., or GRPC for a gRPC call
  PATH                as in a request line: /v1/things/7?full=yes; for a gRPC call: package.Service/Method; to a host as a
                      URL: https://api.example.com/v1/things/7
  FILE                ${CONFIG_HELP}
  --as CALLER         show limits for one class of callers only: bot, user, address or one of access_tokens.classes (every class
                      that the route allows); address:IP is short for --as address --address IP
  --address IP        also show how this client address is counted
  --client AZP        show limits for one bot or user: the claim azp,
  --subject SUB       the claim sub,
  --claim NAME=VALUE  and any other claim of access_tokens.principal; once for each
  --key NAME          or for an API key, by its name
  --provider NAME     the provider of these claims, if there are several identity_providers
  --running           ask the gateway that runs with this configuration, at the address of "listen.admin"
  --token-file FILE   with --running: the file of listen.admin.token_file; not needed if that address is on loopback
  --format FORMAT     text, or json as the admin API returns it at /api/explain (text)
  --help              show this text

Exit code: 0 a route or the gateway itself serves it, 1 the gateway refuses it, no route matches, or no gateway responds, 64 wrong
command line, 78 the configuration has errors.
`,
  async run(args, terminal) {
    const options = {
      ...configOption,
      as: { type: 'string' },
      address: { type: 'string' },
      client: { type: 'string' },
      subject: { type: 'string' },
      claim: { type: 'string', multiple: true },
      key: { type: 'string' },
      provider: { type: 'string' },
      running: { type: 'boolean', default: false },
      'token-file': { type: 'string' },
      format: { type: 'string', default: 'text' },
    } as const;
    const { values, positionals } = readArguments(args, options, ['METHOD', 'PATH', '[FILE]']);
    const [method = '', target = '', word] = positionals;
    checkOrder(method, target, word);
    const format = oneOf('--format', values.format, ['text', 'json']);
    const asked = readCaller(values.as, values.address, readClaims(values), values.provider);
    const { 'token-file': tokenFile = null, running } = values;
    if (tokenFile !== null && !running) throw new UsageError('--token-file is for --running');
    const file = await configFile(word, values.config);
    if (running)
      return explainAtGateway({ method, path: target, caller: asked, file, tokenFile }, format, terminal);
    const config = await loadConfig(file, {
      env: terminal.env,
      generation: 1,
      mayLackSecrets: true,
      reader: 'command',
    });
    if (!config.ok) return reportErrors(terminal, config.diagnostics);
    const { snapshot } = config;
    const request = { method, target, caller: callerIn(asked, snapshot.identity) };
    const explanation = explainRequest(request, snapshot);
    if (format === 'json') terminal.out(asJson(asShape(request, explanation)));
    else terminal.out(`${method} ${target}\n\n${formatRows(explanation.rows)}`);
    return explanation.taken ? ExitCode.ok : ExitCode.failure;
  },
};

async function explainAtGateway(
  question: RunningQuestion,
  format: string,
  { env, out, err }: CommandOutput,
): Promise<number> {
  const explanation = await explainRunning(question, env);
  if (typeof explanation === 'string') {
    err(`weir explain: ${explanation}\n`);
    return ExitCode.failure;
  }
  const { method, path, served, facts } = explanation;
  if (format === 'json') out(asJson(explanation));
  else out(`${method} ${path}\n\n${formatRows(facts.map(({ about, text }) => [about, text]))}`);
  return served ? ExitCode.ok : ExitCode.failure;
}

/** Rejects a word that is not a method, and a file in place of the path. */
function checkOrder(method: string, path: string, file: string | undefined): void {
  if (!isExplained(method)) {
    const meant = method.startsWith('/') ? `: write GET ${method}` : didYouMean(method, EXPLAINED_METHODS);
    throw new UsageError(`"${method}" is not a method${meant}`);
  }
  const isNoPath = file === undefined || existsSync(file);
  if (isNoPath || !(existsSync(path) || /^[^/].*\.ya?ml$/.test(path))) return;
  throw new UsageError(`"${path}" is a file, not a path: write ${method} ${file} ${path}`);
}
