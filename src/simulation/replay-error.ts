/** Logs that cannot be replayed. The message says what to do. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';
}
