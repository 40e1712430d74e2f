import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LuaFactory } from 'wasmoon';
import { Double, Failure, formatDouble, Pairs, type Reply, Simple } from './reply.ts';

/** The functions of Lua that its binding does not name, since they take or return addresses. */
interface Memory {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
  _malloc(bytes: number): number;
  _lua_tolstring(state: number, index: number, size: number): number;
  _lua_pushlstring(state: number, text: number, size: number): void;
  _lua_pushcclosure(state: number, run: number, values: number): void;
  _lua_createtable(state: number, items: number, fields: number): void;
  addFunction(run: (state: number) => number, types: string): number;
}

/** What Lua calls its types. */
const [NIL, BOOLEAN, NUMBER, STRING, TABLE] = [0, 1, 3, 4, 5];
const REGISTRY = -1_001_000;
const ALL = -1;

const lua = await new LuaFactory().getLuaModule();
const memory = lua.module as unknown as Memory;
const state = lua.luaL_newstate();
const sizeAt = memory._malloc(8);

/** Where text lies on its way into Lua. */
let room = { at: memory._malloc(1 << 16), bytes: 1 << 16 };

type RunCommand = (words: readonly string[]) => Reply;

/** A script that was compiled, or why it cannot be. */
export type Script = { readonly reference: number; readonly sha: string } | Failure;

/** Runs the commands of the script that runs. */
let runCommand: RunCommand = () => new Failure('ERR no script runs');
/** What went wrong in the model itself while a script ran. */
let fault: unknown = null;

/** The bytes of Lua's memory, which moves when it grows. */
function bytes(): Buffer {
  return Buffer.from(memory.HEAPU8.buffer);
}

function textAt(index: number): string {
  const at = memory._lua_tolstring(state, index, sizeAt);
  return bytes().toString('latin1', at, at + (memory.HEAPU32[sizeAt >> 2] ?? 0));
}

function pushText(text: string): void {
  if (text.length > room.bytes) room = { at: memory._malloc(text.length), bytes: text.length };
  memory._lua_pushlstring(state, room.at, bytes().write(text, room.at, 'latin1'));
}

function pushField(name: string, text: string): void {
  memory._lua_createtable(state, 0, 1);
  pushText(name);
  pushText(text);
  lua.lua_rawset(state, -3);
}

/** Hands a script a reply, as Redis converts those of RESP2. */
function push(reply: Reply): void {
  if (typeof reply === 'number' || typeof reply === 'bigint') lua.lua_pushnumber(state, Number(reply));
  else if (typeof reply === 'string') pushText(reply);
  else if (reply === null) lua.lua_pushboolean(state, 0);
  else if (reply instanceof Simple) pushField('ok', reply.text);
  else if (reply instanceof Failure) pushField('err', reply.text);
  else if (reply instanceof Double) pushText(formatDouble(reply.value));
  else if (reply instanceof Pairs)
    pushList(reply.entries.flatMap(([member, score]) => [member, formatDouble(score)]));
  else if (Array.isArray(reply)) pushList(reply);
  else throw new Error('the model of Redis hands no such reply to a script');
}

function pushList(items: readonly Reply[]): void {
  memory._lua_createtable(state, items.length, 0);
  for (const [at, item] of items.entries()) {
    lua.lua_pushnumber(state, at + 1);
    push(item);
    lua.lua_rawset(state, -3);
  }
}

/** Returns what a script returned, as Redis converts it. */
function replyAt(index: number): Reply {
  const type: number = lua.lua_type(state, index);
  if (type === NUMBER) return lua.lua_tonumberx(state, index, null);
  if (type === STRING) return textAt(index);
  if (type === BOOLEAN) return lua.lua_toboolean(state, index) === 1 ? 1 : null;
  if (type !== TABLE) return null;
  const error = fieldAt(index, 'err');
  if (error !== null) return new Failure(error.replaceAll(/[\r\n]/g, ' '));
  const ok = fieldAt(index, 'ok');
  return ok === null ? listAt(index) : new Simple(ok.replaceAll(/[\r\n]/g, ' '));
}

function fieldAt(index: number, name: string): string | null {
  pushText(name);
  lua.lua_rawget(state, index - 1);
  const type: number = lua.lua_type(state, -1);
  const text = type === STRING || type === NUMBER ? textAt(-1) : null;
  lua.lua_settop(state, -2);
  return text;
}

/** The items before the first that is nil. */
function listAt(index: number): Reply[] {
  const items: Reply[] = [];
  for (let at = 1; ; at++) {
    lua.lua_pushnumber(state, at);
    lua.lua_rawget(state, index - 1);
    const isEnd = (lua.lua_type(state, -1) as number) === NIL;
    if (!isEnd) items.push(replyAt(-1));
    lua.lua_settop(state, -2);
    if (isEnd) return items;
  }
}

const WRONG_ARGUMENTS = 'ERR Lua redis lib command arguments must be strings or integers';
const NO_ARGUMENTS = 'ERR Please specify at least one argument for this redis lib call';

function wordsAsked(): string[] | Failure {
  const words: string[] = [];
  for (let at = 1; at <= lua.lua_gettop(state); at++) {
    const type: number = lua.lua_type(state, at);
    if (type === STRING) words.push(textAt(at));
    else if (type === NUMBER) words.push(formatDouble(lua.lua_tonumberx(state, at, null)));
    else return new Failure(WRONG_ARGUMENTS);
  }
  return words.length === 0 ? new Failure(NO_ARGUMENTS) : words;
}

/**
 * Makes a function that Lua calls. What it throws ends the script, and is thrown again outside of Lua. If it `raises`, a failure that it
 * returns is an error of the script.
 */
function pushFunction(run: () => Reply, raises = true): void {
  const guarded = () => {
    let reply: Reply;
    try {
      reply = run();
    } catch (error) {
      fault ??= error;
      reply = new Failure('ERR the model of Redis is at fault');
    }
    push(reply);
    return reply instanceof Failure && raises ? lua.lua_error(state) : 1;
  };
  memory._lua_pushcclosure(state, memory.addFunction(guarded, 'ii'), 0);
}

/** Writes a JSON text as a Lua program that returns the value. Numbers get a point: those of Redis' Lua are doubles. */
function programOf(value: unknown): string {
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : `${value}`;
  if (typeof value === 'string') return luaText(value);
  if (typeof value === 'boolean') return `${value}`;
  if (Array.isArray(value)) return `{${value.map(programOf).join(',')}}`;
  if (typeof value !== 'object' || value === null) throw new Error('the model of Redis decodes no null');
  return `{${Object.entries(value).map(([name, item]) => `[${luaText(name)}]=${programOf(item)}`)}}`;
}

function luaText(text: string): string {
  return `"${[...Buffer.from(text)].map(byte => `\\${String(byte).padStart(3, '0')}`).join('')}"`;
}

/** Compiles a program and leaves it on the stack; returns what is wrong with it. */
function compile(source: string, name: string): string | null {
  const text = Buffer.from(source, 'latin1');
  const at = memory._malloc(text.length);
  bytes().set(text, at);
  const isGood = (lua.luaL_loadbufferx(state, at, text.length, name, 't') as number) === 0;
  (lua.module as unknown as { _free(at: number): void })._free(at);
  return isGood ? null : textAt(-1);
}

function prepare(): number {
  lua.luaL_openlibs(state);
  const wrong = compile(readFileSync(join(import.meta.dirname, 'prelude.lua'), 'latin1'), '@redis');
  if (wrong !== null) throw new Error(wrong);
  const ask = () => {
    const words = wordsAsked();
    return words instanceof Failure ? words : runCommand(words);
  };
  pushFunction(ask);
  pushFunction(ask, false);
  pushFunction(() => {
    throw new Error(`the model of Redis has no ${textAt(1)}`);
  });
  lua.lua_callk(state, 3, 2, 0, null);
  pushFunction(() => {
    const json = Buffer.from(textAt(1), 'latin1').toString();
    return `return ${programOf(JSON.parse(json))}`;
  });
  lua.lua_callk(state, 1, 0, 0, null);
  return lua.luaL_ref(state, REGISTRY);
}

const runner = prepare();
const scripts = new Map<string, Script>();

/** Compiles a script, once for all servers of this process: it holds nothing between two runs. */
export function compileScript(source: string, sha: string): Script {
  const known = scripts.get(sha);
  if (known !== undefined) return known;
  const wrong = compile(source, '@user_script');
  const script =
    wrong === null
      ? { reference: lua.luaL_ref(state, REGISTRY), sha }
      : new Failure(`ERR Error compiling script (new function): ${wrong}`);
  lua.lua_settop(state, 0);
  scripts.set(sha, script);
  return script;
}

/** Runs a script whose commands are run so. Throws what `run` throws. */
export function runScript(
  { reference, sha }: Exclude<Script, Failure>,
  keys: readonly string[],
  args: readonly string[],
  run: RunCommand,
): Reply {
  runCommand = run;
  lua.lua_rawgeti(state, REGISTRY, BigInt(runner));
  lua.lua_rawgeti(state, REGISTRY, BigInt(reference));
  lua.lua_checkstack(state, keys.length + args.length + 20);
  lua.lua_pushnumber(state, keys.length);
  for (const text of keys) pushText(text);
  for (const text of args) pushText(text);
  lua.lua_callk(state, 2 + keys.length + args.length, ALL, 0, null);
  const reply = lua.lua_toboolean(state, 1) === 1 ? resultOf() : failureOf(sha);
  lua.lua_settop(state, 0);
  const thrown = fault;
  fault = null;
  if (thrown !== null) throw thrown;
  return reply;
}

function resultOf(): Reply {
  lua.lua_settop(state, 2);
  return replyAt(-1);
}

function failureOf(sha: string): Failure {
  lua.lua_settop(state, 2);
  const line = fieldAt(-1, 'line');
  const at = line === null ? '' : `, on @user_script:${Number(line)}`;
  const text = fieldAt(-1, 'err')?.replaceAll(/[\r\n]/g, ' ') ?? 'ERR unknown error';
  return new Failure(`${text} script: ${sha}${at}.`);
}
