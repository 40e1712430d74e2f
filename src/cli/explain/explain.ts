import { METHODS } from 'node:http';
import { isIP } from 'node:net';
import { didYouMean, formatDiagnostic, loadConfig, type Snapshot } from '../../config/index.ts';
import { addressKey, normalizeAddress } from '../../http/index.ts';
import { GRPC } from '../../routing/index.ts';
import { CONFIG_HELP, configFile, configOption, readArguments } from '../arguments.ts';
import { type Command, UsageError } from '../command.ts';
import { ExitCode } from '../exit-code.ts';
import { explainCall } from './explain-call.ts';
import { explainRequest } from './explain-request.ts';
import type { AskedCaller } from './explanation.ts';
import { formatRows } from './row.ts';

export const explain: Command = {
  name: 'explain',
  summary: 'show which route a request takes, and why',
  help: `Shows what the gateway would do with a request: the canonical path, the route and upstream with their policies (or
that the gateway serves it itself), the bucket and every limit with the line that sets it, what may restrict the caller, and
which other routes match. Sends nothing.

weir explain METHOD PATH [FILE] [OPTIONS]

  METHOD          GET, POST, ..., or GRPC for a gRPC call
  PATH            as in a request line: /v1/things/7?full=yes; of a gRPC call: package.Service/Method
  FILE            ${CONFIG_HELP}
  --as CALLER     show limits for one class of callers only: bot, user or address (every class that the route allows);
                  address:IP is short for --as address --address IP
  --address IP    also show how this client address is counted
  --help          show this text

Exit code: 0 a route or the gateway itself serves it, 1 the gateway refuses it or no route matches, 64 wrong command line,
78 the configuration has errors.
`,
  async run(args, terminal) {
    const options = { ...configOption, as: { type: 'string' }, address: { type: 'string' } } as const;
    const { values, positionals } = readArguments(args, options, ['METHOD', 'PATH', '[FILE]']);
    const [method = '', path = '', word] = positionals;
    checkMethod(method);
    const caller = readCaller(values.as, values.address);
    const file = await configFile(word, values.config);
    const config = await loadConfig(file, { env: terminal.env, generation: 1 });
    if (!config.ok) {
      for (const diagnostic of config.diagnostics) terminal.err(`${formatDiagnostic(diagnostic)}\n`);
      return ExitCode.configuration;
    }
    const { rows, taken } =
      method === GRPC ? explainCall(path, caller, config) : explainRequest(method, path, caller, config);
    if (caller.address !== null) rows.push(['address', describeAddress(caller.address, config.snapshot)]);
    terminal.out(`${method} ${path}\n\n${formatRows(rows)}`);
    return taken ? ExitCode.ok : ExitCode.failure;
  },
};

function describeAddress(address: string, snapshot: Snapshot): string {
  const key = addressKey(address);
  const counts = key === address ? `${address} is counted by itself` : `${address} counts as ${key}`;
  if (!snapshot.trustedProxies.has(address)) {
    return `${counts}; not a trusted proxy: its forwarding headers are ignored`;
  }
  return `${address} is a trusted proxy: the client's address is read from its X-Forwarded-For`;
}

function checkMethod(method: string): void {
  const known = [...METHODS, GRPC];
  if (known.includes(method)) return;
  throw new UsageError(`"${method}" is not a method${didYouMean(method, known)}`);
}

/** `as`: bot, user, address or address:IP. */
function readCaller(as: string | undefined, address: string | undefined): AskedCaller {
  const [, word = '', ip] = /^([^:]*)(?::(.*))?$/s.exec(as ?? '') ?? [];
  const known = CLASSES.find(callerClass => callerClass === word) ?? null;
  if (as !== undefined && (known === null || (ip !== undefined && known !== 'address')))
    throw new UsageError(
      `--as takes bot, user, address or address:IP, not "${as}"${didYouMean(word, CLASSES)}`,
    );
  if (ip !== undefined && address !== undefined)
    throw new UsageError('--as address:IP and --address both give an address: leave out one');
  const given = ip ?? address;
  return { as: known, address: given === undefined ? null : readAddress(given, ip === undefined) };
}

const CLASSES = ['bot', 'user', 'address'] as const;

function readAddress(text: string, ofAddress: boolean): string {
  const address = isIP(text) === 0 ? null : normalizeAddress(text);
  const option = ofAddress ? '--address' : '--as address:IP';
  if (address === null) throw new UsageError(`${option} takes an IP address, not "${text}"`);
  return address;
}
