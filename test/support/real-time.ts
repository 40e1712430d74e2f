import { createRequire, syncBuiltinESMExports } from 'node:module';

/** The longest timer that a test may set by the clock of this machine: to gather what comes at one time, or to look again. */
export const LONGEST_MS = 50;

interface Held {
  /** Timers that no test may set, by the place that did. */
  breaches: string[];
  /** Why the file that runs may set them. */
  reason: string | null;
  isOn: boolean;
}

// Files may share a process, and its timers, but not this module.
const shared: { weirRealTime?: Held } & typeof globalThis = globalThis;
shared.weirRealTime ??= { breaches: [], reason: null, isOn: false };
const held = shared.weirRealTime;

/** This file needs time that really passes, for this reason. Its gateways go by the clock of this machine. */
export function realTime(reason: string): void {
  held.reason = reason;
}

/** Whether time passes by itself for the file that runs: it says so, or it is not one of `npm test`. */
export function isRealTime(): boolean {
  return !held.isOn || held.reason !== null;
}

/** From now on, no test of another file may set a timer by the clock of this machine, but for short ones. */
export function forbidRealTime(): void {
  held.reason = null;
  held.breaches = [];
  if (!held.isOn) watchTimers();
  held.isOn = true;
}

/** The breaches since this was asked last. */
export function takeBreaches(): string[] {
  const found = held.breaches;
  held.breaches = [];
  return found;
}

type Setter = (run: () => void, ms?: number, ...rest: unknown[]) => unknown;

function watchTimers(): void {
  const require = createRequire(import.meta.url);
  const timers = require('node:timers');
  const promises = require('node:timers/promises');
  for (const name of ['setTimeout', 'setInterval']) {
    const own: Setter = Reflect.get(globalThis, name);
    const watched: Setter = (run, ms, ...rest) => {
      look(name, ms);
      return own(run, ms, ...rest);
    };
    // util.promisify, and code that asks what kind of function it is.
    Object.defineProperties(watched, Object.getOwnPropertyDescriptors(own));
    Reflect.set(globalThis, name, watched);
    timers[name] = watched;
    const promised: (ms?: number, ...rest: unknown[]) => unknown = promises[name];
    promises[name] = (ms?: number, ...rest: unknown[]) => {
      look(name, ms);
      return promised(ms, ...rest);
    };
  }
  const { timeout } = AbortSignal;
  AbortSignal.timeout = ms => {
    look('AbortSignal.timeout', ms);
    return timeout.call(AbortSignal, ms);
  };
  syncBuiltinESMExports();
}

function look(name: string, ms: number | undefined): void {
  if (held.reason !== null || ms === undefined || !(ms > LONGEST_MS)) return;
  const places = callers();
  // Libraries look after their connections by timers of their own, and commands give up by them. No test waits for those.
  const [first = 'node_modules/'] = places;
  if (first.includes('node_modules/') || places.some(place => place.includes('src/cli/'))) return;
  const from = places.filter(place => !place.includes('node_modules/')).slice(0, 4);
  held.breaches.push(`${name} of ${ms} ms by ${from.join(', from ')}`);
}

/** The places that led here, without those of Node's own: none if Node itself set the timer. */
function callers(): string[] {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 30;
  const lines = String(new Error('here').stack).split('\n').slice(1);
  Error.stackTraceLimit = stackTraceLimit;
  const places = lines
    .map(line => line.trim().replace(/^at /, ''))
    // Files of tests are run again by another URL.
    .map(line => line.replaceAll(/file:\/\/|\?(?:vitest|visit)=\d+/g, '').replaceAll(`${process.cwd()}/`, ''))
    .filter(line => !line.includes('real-time.ts'));
  return places[0]?.includes('node:') === true ? [] : places.filter(line => !line.includes('node:'));
}
