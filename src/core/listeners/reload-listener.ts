/** A configuration that serves, or is about to. */
export interface ConfigEvent {
  readonly generation: number;
  readonly hash: string;
}

export interface AppliedEvent extends ConfigEvent {
  /** Keys that were changed and wait for a restart. */
  readonly needsRestart: readonly string[];
}

/** Hears what becomes of the configuration. Must be quick and must not throw. */
export interface ReloadListener {
  /** The gateway starts with this one. */
  started(event: AppliedEvent): void;
  /** Another one was read that has no mistakes, but this is odd about it, one line each. */
  warned(warnings: readonly string[]): void;
  /** Another one serves from now on. */
  applied(event: AppliedEvent): void;
  /** Another one was taken, but serves only when the keys of its identity provider have come. */
  waiting(event: ConfigEvent): void;
  /** The files have mistakes, one line each: what served goes on. */
  refused(problems: readonly string[]): void;
  /** The files hold what was taken last: again, or still. */
  unchanged(): void;
  /** Changes are noticed late, by looking now and then. */
  unwatched(cause: unknown): void;
}
