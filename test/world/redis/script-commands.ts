import { hash } from 'node:crypto';
import { type Command, hasItsWords, Refusal, unknown, wholeOf } from './command.ts';
import { COMMANDS } from './commands.ts';
import { compileScript, runScript, type Script } from './lua.ts';
import { Failure, OK, type Reply } from './reply.ts';
import { SESSION_COMMANDS } from './session-commands.ts';

/** What scripts need of their server. */
export interface ScriptHost {
  /** Why a command of a script may not run now; `isFirst`: nothing was written before it. */
  refusal(name: string, command: Command, isFirst: boolean): Failure | null;
  run(command: Command, args: readonly string[]): Reply;
}

export const SCRIPT_COMMANDS: ReadonlyMap<string, Pick<Command, 'words'>> = new Map([
  ['eval', { words: -3 }],
  ['evalsha', { words: -3 }],
  ['script', { words: -2 }],
]);

/** The scripts that a server knows, by their hashes. */
export class Scripts {
  readonly #host: ScriptHost;
  readonly #known = new Map<string, Script>();

  constructor(host: ScriptHost) {
    this.#host = host;
  }

  forget(): void {
    this.#known.clear();
  }

  /** Runs EVAL, EVALSHA or SCRIPT. */
  run(name: string, [first = '', count, ...rest]: readonly string[]): Reply {
    if (name === 'script') return this.#manage(first.toLowerCase(), count);
    const keys = Number(wholeOf(count));
    if (keys > rest.length) throw new Refusal("ERR Number of keys can't be greater than number of args");
    if (keys < 0) throw new Refusal("ERR Number of keys can't be negative");
    const script = name === 'eval' ? this.#load(first) : this.#known.get(first.toLowerCase());
    if (script === undefined) throw new Refusal('NOSCRIPT No matching script. Please use EVAL.');
    if (script instanceof Failure) return script;
    let isFirst = true;
    return runScript(script, rest.slice(0, keys), rest.slice(keys), ([word = '', ...args]) => {
      const called = word.toLowerCase();
      const command = COMMANDS.get(called);
      if (command === undefined) return notForScripts(called);
      if (!hasItsWords(command, args.length + 1))
        return new Failure('ERR Wrong number of args calling Redis command from script');
      const refusal = this.#host.refusal(called, command, isFirst);
      if (refusal !== null) return refusal;
      if (command.writes) isFirst = false;
      return this.#host.run(command, args);
    });
  }

  #manage(name: string, source: string | undefined): Reply {
    if (name === 'load' && source !== undefined) {
      const script = this.#load(source);
      return script instanceof Failure ? script : script.sha;
    }
    if (name !== 'flush') throw unknown(`SCRIPT ${name}`);
    this.forget();
    return OK;
  }

  #load(source: string): Script {
    const sha = hash('sha1', Buffer.from(source, 'latin1'));
    const script = compileScript(source, sha);
    if (!(script instanceof Failure)) this.#known.set(sha, script);
    return script;
  }
}

function notForScripts(name: string): Failure {
  if (SESSION_COMMANDS.has(name) || SCRIPT_COMMANDS.has(name))
    return new Failure('ERR This Redis command is not allowed from script');
  throw unknown(name);
}
