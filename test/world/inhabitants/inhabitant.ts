/** Someone who lives in a world. README.md says how to write one. */
export interface Inhabitant {
  readonly name: string;
  /** Begins to exist. Resolves once others may rely on it. */
  start?(): Promise<void>;
  /** Adds what it will do to `world.plan`. Called once, after all have started, before anything happens. */
  plan?(): void;
  /** All faults are over: repairs what is still broken of it. Resolves once others may rely on it. */
  heal?(): Promise<void>;
  /** Proves, after everything has healed, that it is served. Calls `world.wrong` if not. */
  prove?(): Promise<void>;
  /** Leaves: closes what it has open. */
  leave?(): Promise<void>;
}
