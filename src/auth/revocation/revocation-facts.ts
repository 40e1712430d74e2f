/** For the status page. */
export interface RevocationFacts {
  /** Tokens issued before it are refused; seconds since the epoch, 0: none. */
  readonly notBeforeS: number;
  /** What the provider pushed last; null: nothing. */
  readonly pushedS: number | null;
  readonly subjects: number;
  readonly sessions: number;
  readonly keptForS: number;
  /** Where that time is from. */
  readonly keptBy: 'configuration' | 'longest token seen' | 'default';
}
