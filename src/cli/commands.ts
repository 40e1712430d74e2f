import type { Command } from './command.ts';

/** A command as `weir --help` lists it. */
interface ListedCommand {
  readonly name: string;
  /** A few words. */
  readonly summary: string;
  load(): Promise<Command>;
}

/** Every command, loaded only when it is called: a health check, which runs every few seconds, need not load the whole gateway. */
export const COMMANDS: readonly ListedCommand[] = [
  {
    name: 'serve',
    summary: 'run the gateway',
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'check',
    summary: 'report every error in the configuration',
    load: async () => (await import('./check.ts')).check,
  },
  {
    name: 'diff',
    summary: 'show what a change of the limits or the configuration changes for callers',
    load: async () => (await import('./diff.ts')).diff,
  },
  {
    name: 'test',
    summary: 'run tests of limits',
    load: async () => (await import('./test.ts')).test,
  },
  {
    name: 'explain',
    summary: 'show which route a request takes, and why',
    load: async () => (await import('./explain.ts')).explain,
  },
  {
    name: 'simulate',
    summary: 'replay access logs under other limits',
    load: async () => (await import('./simulate/index.ts')).simulate,
  },
  {
    name: 'suggest',
    summary: 'suggest limits from access logs',
    load: async () => (await import('./suggest/index.ts')).suggest,
  },
  {
    name: 'who',
    summary: 'print the pseudonym of a caller in the log',
    load: async () => (await import('./who.ts')).who,
  },
  {
    name: 'schema',
    summary: 'print the JSON Schema of a configuration file',
    load: async () => (await import('./schema.ts')).schema,
  },
  {
    name: 'health',
    summary: 'check the health of a running gateway on this machine',
    load: async () => (await import('./health.ts')).health,
  },
  {
    name: 'demo',
    summary: 'try it: an identity provider, a backend and the gateway in front of both',
    load: async () => (await import('./demo.ts')).demo,
  },
];
