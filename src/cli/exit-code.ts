/** Exit codes of `weir`. Those above 2 follow sysexits.h and shells. */
export const ExitCode = {
  ok: 0,
  /** The command failed, or its result is negative. */
  failure: 1,
  /** Wrong command line. */
  usage: 64,
  /** Stopped before all requests had finished. */
  drainTimeout: 75,
  /** The configuration has errors. */
  configuration: 78,
  /** Stopped immediately by a second SIGINT or SIGTERM. */
  interrupted: 130,
  terminated: 143,
} as const;
