import { METHODS } from 'node:http';
import { isIP } from 'node:net';

import {
  type CallerClass,
  didYouMean,
  formatDiagnostic,
  type LoadedConfig,
  loadConfig,
  type RouteModel,
  type Snapshot,
} from '../../config/index.ts';
import { addressKey, normalizeAddress } from '../../http/index.ts';
import { isRoutable } from '../../routing/index.ts';
import { CONFIG_HELP, configFile, configOption, readArguments } from '../arguments.ts';
import { type Command, UsageError } from '../command.ts';
import { ExitCode } from '../exit-code.ts';
import { describeForwarding, routeFact } from './describe-route.ts';
import { describeLimits, whyBucketRefuses } from './explain-limits.ts';
import { describeCors, describeRestrictions } from './explain-restrictions.ts';
import { describeSignIn, whySignInRefuses } from './explain-sign-in.ts';
import { describeServerWide, describeTarget, readTarget } from './explain-target.ts';
import { type ExplainedFact, formatFacts } from './fact.ts';
import { rivalsOf } from './rivals.ts';

export const explain: Command = {
  name: 'explain',
  summary: 'say which route a request takes, and why',
  help: `Says what the gateway does with a request: its canonical path, the route and upstream it takes with their policies,
or that the gateway serves it itself; its bucket and each limit that it meets, what may restrict its caller, and which other
routes match as well. Behind each limit stands the line where it is written. Nothing is sent.

weir explain METHOD PATH [FILE] [OPTIONS]

  METHOD          GET, POST, ...
  PATH            as in a request line: /v1/things/7?full=yes
  FILE            ${CONFIG_HELP}
  --as CALLER     the limits of one class of callers alone: bot, user or address (all that the route may have);
                  address:IP for --as address --address IP
  --address IP    also say what a request from this address counts as
  --help          this text

Exit code: 0 a route or the gateway itself takes it, 1 the gateway refuses it or no route matches, 64 the command line makes
no sense, 78 the configuration has mistakes.
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
    const { facts, taken } = explainRequest(method, path, caller, config);
    if (caller.address !== null) facts.push(['address', describeAddress(caller.address, config.snapshot)]);
    terminal.out(`${method} ${path}\n\n${formatFacts(facts)}`);
    return taken ? ExitCode.ok : ExitCode.failure;
  },
};

/** Whom the command line asks about; null: anyone. */
interface Caller {
  readonly as: CallerClass | null;
  readonly address: string | null;
}

interface Explanation {
  readonly facts: ExplainedFact[];
  /** A route takes the request. */
  readonly taken: boolean;
}

/** Goes the way of a request through the gateway, in the same order. */
function explainRequest(method: string, sent: string, caller: Caller, config: LoadedConfig): Explanation {
  const { snapshot, routes } = config;
  const refused = (why: string, facts: readonly ExplainedFact[] = []): Explanation => ({
    facts: [...facts, ['refused', why]],
    taken: false,
  });
  const line = `${method} ${sent} HTTP/1.1`;
  if (line.length > snapshot.caps.headBytes)
    return refused('431, the request line alone is longer than "head" of "caps"');
  if (!isRoutable(method)) return refused(`405, the gateway does not serve ${method}`);
  const target = readTarget(method, sent);
  if ('rejected' in target) return refused(`400, ${target.rejected}`);
  const facts = describeTarget(sent, target);
  if (target.path === '*') return { facts: [...facts, ...describeServerWide(config)], taken: true };
  const match = snapshot.routes.find(method, target.path);
  const route = routes.find(({ value }) => value === match?.value);
  const rivals = rivalsOf(route, method, target.path, routes);
  if (target.semicolon && match?.value.semicolons !== 'pass') {
    const found = route === undefined ? [] : [routeFact(route)];
    return refused('400, a path with a semicolon passes only where the route says "semicolons: pass"', [
      ...facts,
      ...found,
    ]);
  }
  if (match === null || route === undefined) {
    return { facts: [...facts, ['refused', '404, no route takes it'], ...rivals], taken: false };
  }
  const { value } = match;
  facts.push(routeFact(route));
  const refusal = value.kind === 'sign-in' ? whySignInRefuses(value, method, snapshot.identity) : null;
  if (refusal !== null) return { facts: [...facts, ['refused', refusal], ...rivals], taken: false };
  const limited = { method, path: target.path, route: value, as: caller.as };
  const unread = whyBucketRefuses(limited, config);
  if (unread !== null) return refused(unread.why, [...facts, ...unread.facts]);
  const key = caller.address === null ? null : addressKey(caller.address);
  return {
    facts: [
      ...facts,
      ...describeTaken(value, match.params, snapshot),
      ...describeLimits(limited, config),
      ...describeRestrictions(value, key, config),
      ...describeCors(value, snapshot),
      ...rivals,
    ],
    taken: true,
  };
}

function describeTaken(
  route: RouteModel,
  params: readonly string[],
  { identity }: Snapshot,
): ExplainedFact[] {
  if (route.kind === 'forward') return describeForwarding(route, params, identity);
  return identity === null ? [] : describeSignIn(route, identity);
}

function describeAddress(address: string, snapshot: Snapshot): string {
  const key = addressKey(address);
  const counts = key === address ? `${address} counts by itself` : `${address} counts as ${key}`;
  if (!snapshot.trustedProxies.has(address)) {
    return `${counts}; it is no trusted proxy, forwarding headers from it are ignored`;
  }
  return `${address} is a trusted proxy: the client's address is read from its X-Forwarded-For`;
}

function checkMethod(method: string): void {
  if (METHODS.includes(method)) return;
  throw new UsageError(`"${method}" is not a method${didYouMean(method, METHODS)}`);
}

/** `as`: bot, user, address or address:IP. */
function readCaller(as: string | undefined, address: string | undefined): Caller {
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
