/** A configuration in use, or about to be. */
export interface ConfigEvent {
  readonly generation: number;
  readonly hash: string;
}

export interface AppliedEvent extends ConfigEvent {
  /** Changed keys that take effect only after a restart. */
  readonly needsRestart: readonly string[];
}

/** A configuration that replaced another. */
export interface ReplacedEvent extends AppliedEvent {
  /** What changed, in words, one line each: what is stricter comes first. */
  readonly changes: readonly string[];
}

/** Hears how reloads end. Must be quick and must not throw. */
export interface ReloadListener {
  /** The gateway starts with this configuration. */
  started(event: AppliedEvent): void;
  /** A valid configuration was read, with these warnings, one line each. */
  warned(warnings: readonly string[]): void;
  /** Another configuration is in use from now on. */
  applied(event: ReplacedEvent): void;
  /** Another configuration is valid but waits for the keys of its identity provider. */
  waiting(event: ConfigEvent): void;
  /** The files have errors, one line each; the current configuration stays in use. */
  refused(errors: readonly string[]): void;
  /** The files have not changed since they were last read. */
  unchanged(): void;
  /** The files cannot be watched and are polled instead. */
  unwatched(cause: unknown): void;
}
