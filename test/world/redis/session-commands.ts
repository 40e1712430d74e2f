import type { Client } from './client.ts';
import { Refusal, SYNTAX, unknown } from './command.ts';
import { Failure, OK, type Protocol, Push, type Reply, Simple } from './reply.ts';

/** What the commands of a connection need of its server. */
export interface Host {
  /** `null`: everybody may enter. */
  readonly password: string | null;
}

interface SessionCommand {
  readonly words: number;
  /** What to answer; `undefined`: it has answered by itself. */
  run(client: Client, host: Host, args: readonly string[]): Reply | undefined;
}

const WRONG_PASSWORD = 'WRONGPASS invalid username-password pair or user is disabled.';
const NO_PASSWORD =
  'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?';
const HELLO_FIRST =
  'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time';

/** The one user is `default`; without a password of the server it takes any. */
function authenticate(client: Client, { password }: Host, user: string, given: string): void {
  if (user !== 'default' || (password !== null && given !== password)) throw new Refusal(WRONG_PASSWORD);
  client.isAuthenticated = true;
}

function hello(client: Client, host: Host, args: readonly string[]): Reply {
  const [version, ...options] = args;
  if (version !== undefined && !/^-?\d+$/.test(version))
    return new Failure('ERR Protocol version is not an integer or out of range');
  if (version !== undefined && version !== '2' && version !== '3')
    return new Failure('NOPROTO unsupported protocol version');
  while (options.length > 0) {
    const given = options.shift() ?? '';
    const option = given.toUpperCase();
    if (option === 'AUTH' && options.length >= 2)
      authenticate(client, host, options.shift() ?? '', options.shift() ?? '');
    else if (option === 'SETNAME' && options.length > 0) options.shift();
    else return new Failure(`ERR Syntax error in HELLO option '${given}'`);
  }
  if (!client.isAuthenticated) return new Failure(HELLO_FIRST);
  if (version !== undefined) client.protocol = Number(version) as Protocol;
  return new Map<string, Reply>([
    ['server', 'redis'],
    ['version', '7.0.15'],
    ['proto', client.protocol],
    ['id', client.id],
    ['mode', 'standalone'],
    ['role', 'master'],
    ['modules', []],
  ]);
}

function auth(client: Client, host: Host, args: readonly string[]): Reply {
  if (args.length > 2) return new Failure(SYNTAX);
  if (args.length === 1 && host.password === null) return new Failure(NO_PASSWORD);
  authenticate(client, host, args.length === 2 ? (args[0] ?? '') : 'default', args.at(-1) ?? '');
  return OK;
}

/** Redis 7.0 knows no SETINFO. */
function clientCommand(_client: Client, _host: Host, [name = '']: readonly string[]): Reply {
  if (/^setname$/i.test(name)) return OK;
  if (/^setinfo$/i.test(name)) return new Failure(`ERR unknown subcommand '${name}'. Try CLIENT HELP.`);
  throw unknown(`CLIENT ${name}`);
}

function ping(client: Client, _host: Host, [text]: readonly string[]): Reply {
  if (client.protocol === 2 && client.channels.size > 0) return ['pong', text ?? ''];
  return text ?? new Simple('PONG');
}

function subscribe(client: Client, _host: Host, channels: readonly string[]): undefined {
  for (const channel of channels) {
    client.channels.add(channel);
    client.reply(new Push(['subscribe', channel, client.channels.size]));
  }
}

function unsubscribe(client: Client, _host: Host, channels: readonly string[]): undefined {
  const left = channels.length > 0 ? channels : [...client.channels];
  for (const channel of left) {
    client.channels.delete(channel);
    client.reply(new Push(['unsubscribe', channel, client.channels.size]));
  }
  if (left.length === 0) client.reply(new Push(['unsubscribe', null, 0]));
}

function select(_client: Client, _host: Host, [database]: readonly string[]): Reply {
  if (database !== '0') throw unknown(`SELECT ${database}`);
  return OK;
}

function quit(client: Client): undefined {
  client.reply(OK);
  client.close();
}

/** The commands that are about a connection, and not about data. */
export const SESSION_COMMANDS: ReadonlyMap<string, SessionCommand> = new Map<string, SessionCommand>([
  ['hello', { words: -1, run: hello }],
  ['auth', { words: -2, run: auth }],
  ['client', { words: -2, run: clientCommand }],
  ['ping', { words: -1, run: ping }],
  ['subscribe', { words: -2, run: subscribe }],
  ['unsubscribe', { words: -1, run: unsubscribe }],
  ['select', { words: 2, run: select }],
  ['quit', { words: -1, run: quit }],
]);
