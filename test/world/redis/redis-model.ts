import { Client, type Wire } from './client.ts';
import { type Command, hasItsWords, Refusal, type Room, runCommand, unknown } from './command.ts';
import { COMMANDS } from './commands.ts';
import { Keyspace } from './keyspace.ts';
import { Failure, Push, type Reply } from './reply.ts';
import { SCRIPT_COMMANDS, Scripts } from './script-commands.ts';
import { SESSION_COMMANDS } from './session-commands.ts';

/** What becomes of a command. A lost one, or a lost reply, costs the connection. */
export type Fate = 'runs' | 'is lost' | 'runs and its reply is lost';

/** A command that somebody sent, its name in lower case. */
export interface Sent {
  /** The number of the connection. */
  readonly client: number;
  readonly name: string;
  readonly args: readonly string[];
}

/** One end of a connection: what the other end did. */
export interface Session {
  /** The number of the connection. */
  readonly client: number;
  receive(bytes: Uint8Array): void;
  /** The connection is no more. */
  gone(): void;
}

const OUT_OF_MEMORY = new Failure("OOM command not allowed when used memory > 'maxmemory'.");
const READ_ONLY = new Failure("READONLY You can't write against a read only replica.");
const UNFIT = {
  loading: new Failure('LOADING Redis is loading the dataset in memory'),
  busy: new Failure('BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.'),
};
const RUNS_WHILE = {
  busy: new Set(['hello', 'auth', 'quit']),
  loading: new Set([
    'hello',
    'auth',
    'quit',
    'client',
    'select',
    'subscribe',
    'unsubscribe',
    'publish',
    'time',
  ]),
  subscribed: new Set(['subscribe', 'unsubscribe', 'ping', 'quit']),
};

/**
 * A Redis 7.0, as far as Weir knows it: bytes in, bytes out, on a clock that is handed in. It draws nothing at random: what goes wrong,
 * and when, its owner says. A command that it does not know ends the test.
 */
export class RedisModel implements Room {
  readonly keys: Keyspace;
  /** Decides about each command that comes. */
  fate: (sent: Sent) => Fate = () => 'runs';
  /** Hears each command that ran, with the reply that its sender may never get. */
  heard: (sent: Sent, reply: Reply | undefined) => void = () => {};
  /** Loads its data, or has run a script for too long. */
  condition: 'ready' | 'loading' | 'busy' = 'ready';
  /** Has no memory left, and its policy is to evict nothing. */
  isFull = false;
  /** Commands that its users may not send, in lower case. */
  forbidden: ReadonlySet<string> = new Set();
  /** What its one user gives; `null`: everybody may enter. */
  password: string | null = null;
  readonly #nowUs: () => number;
  readonly #scripts: Scripts;
  readonly #clients = new Set<Client>();
  /** Whose bytes are read now: its replies go out together. */
  #served: Client | null = null;
  #lastId = 0;
  #aheadUs = 0;
  /** What has come while it is frozen. */
  #held: (() => void)[] | null = null;

  /** `nowUs`: microseconds by the clock of the machine, since 1970. */
  constructor(nowUs: () => number) {
    this.#nowUs = nowUs;
    this.keys = new Keyspace(() => Math.floor(this.nowUs() / 1_000));
    this.#scripts = new Scripts({
      refusal: (name, command, isFirst) => this.#refusalInScript(name, command, isFirst),
      run: (command, args) => runCommand(this, command, args),
    });
  }

  nowUs(): number {
    return this.#nowUs() + this.#aheadUs;
  }

  publish(channel: string, text: string): number {
    const hearing = [...this.#clients].filter(({ channels }) => channels.has(channel));
    for (const client of hearing) {
      client.reply(new Push(['message', channel, text]));
      if (client !== this.#served) client.flush();
    }
    return hearing.length;
  }

  accept(wire: Wire): Session {
    const client = new Client(++this.#lastId, wire, this.password === null);
    this.#clients.add(client);
    const receive = (bytes: Uint8Array) => {
      if (this.#held === null) this.#receive(client, bytes);
      else this.#held.push(() => this.#receive(client, bytes));
    };
    return { client: client.id, receive, gone: () => this.#drop(client) };
  }

  /** Takes what comes and answers nothing until it thaws. */
  freeze(): void {
    this.#held ??= [];
  }

  thaw(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const run of held) run();
  }

  /** Only a master takes writes. */
  set isReplica(isReplica: boolean) {
    this.keys.isReplica = isReplica;
  }

  /** Moves the clock of this machine, either way. */
  stepClock(ms: number): void {
    this.#aheadUs += ms * 1_000;
  }

  forgetScripts(): void {
    this.#scripts.forget();
  }

  /** Under a policy that evicts, a full server gives up keys. */
  evict(names: readonly string[]): void {
    for (const name of names) this.keys.delete(name);
    this.keys.commit();
  }

  /** The process ends and comes back: all connections break, and scripts are forgotten; data is kept only if it is saved. */
  restart(isSaved: boolean): void {
    this.#breakAll();
    if (isSaved) return;
    this.keys.clear();
    this.keys.commit();
  }

  /** A replica takes over that lacks the last changes. Its clock may be another. It was sent no scripts. */
  failOver(lostChanges: number, clockStepMs = 0): void {
    this.#breakAll();
    this.keys.undo(lostChanges);
    this.keys.isReplica = false;
    this.stepClock(clockStepMs);
  }

  /** Breaks all connections. */
  #breakAll(): void {
    this.#held = null;
    this.condition = 'ready';
    this.#scripts.forget();
    for (const client of [...this.#clients]) this.#drop(client);
  }

  #drop(client: Client): void {
    this.#clients.delete(client);
    client.close();
  }

  #receive(client: Client, bytes: Uint8Array): void {
    if (!client.isOpen) return;
    this.#served = client;
    for (const [word = '', ...args] of client.reader.read(bytes)) {
      if (!client.isOpen) break;
      this.#obey(client, { client: client.id, name: word.toLowerCase(), args });
    }
    this.#served = null;
    if (client.isOpen) client.flush();
    else this.#drop(client);
  }

  #obey(client: Client, sent: Sent): void {
    const fate = this.fate(sent);
    if (fate === 'is lost') {
      this.#drop(client);
      return;
    }
    const reply = this.#run(client, sent);
    this.keys.commit();
    this.heard(sent, reply);
    if (fate !== 'runs') this.#drop(client);
    else if (reply !== undefined) client.reply(reply);
  }

  #run(client: Client, { name, args }: Sent): Reply | undefined {
    const session = SESSION_COMMANDS.get(name);
    const command = COMMANDS.get(name);
    const known = session ?? command ?? SCRIPT_COMMANDS.get(name);
    if (known === undefined) throw unknown(name);
    if (!hasItsWords(known, args.length + 1))
      return new Failure(`ERR wrong number of arguments for '${name}' command`);
    const refusal = this.#refusal(client, name, command);
    if (refusal !== null) return refusal;
    if (command !== undefined) return runCommand(this, command, args);
    try {
      return session === undefined ? this.#scripts.run(name, args) : session.run(client, this, args);
    } catch (error) {
      if (error instanceof Refusal) return new Failure(error.message);
      throw error;
    }
  }

  /** In the order in which Redis looks. A replica does not mind that memory is full. */
  #refusal(client: Client, name: string, command: Command | undefined): Failure | null {
    if (!client.isAuthenticated && !RUNS_WHILE.busy.has(name))
      return new Failure('NOAUTH Authentication required.');
    if (this.forbidden.has(name))
      return new Failure(`NOPERM this user has no permissions to run the '${name}' command`);
    if (this.keys.isReplica && command?.writes) return READ_ONLY;
    if (this.isFull && command?.takesMemory) return OUT_OF_MEMORY;
    if (client.protocol === 2 && client.channels.size > 0 && !RUNS_WHILE.subscribed.has(name))
      return new Failure(
        `ERR Can't execute '${name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context`,
      );
    if (this.condition === 'ready' || RUNS_WHILE[this.condition].has(name)) return null;
    return UNFIT[this.condition];
  }

  #refusalInScript(name: string, { writes, takesMemory }: Command, isFirst: boolean): Failure | null {
    if (this.forbidden.has(name))
      return new Failure("ERR The user executing the script can't run this command or subcommand");
    if (this.keys.isReplica && writes) return READ_ONLY;
    return this.isFull && takesMemory && isFirst ? OUT_OF_MEMORY : null;
  }
}
