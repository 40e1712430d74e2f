/** What a `weir` command ends with. The numbers above 2 are those of sysexits.h and of shells. */
export const ExitCode = {
  ok: 0,
  /** What was asked for failed, or the response is no. */
  failure: 1,
  /** The command line makes no sense. */
  usage: 64,
  /** Time ran out before all requests were finished. */
  drainTimeout: 75,
  /** The configuration has mistakes. */
  configuration: 78,
  /** Ended at once by a second SIGINT or SIGTERM. */
  interrupted: 130,
  terminated: 143,
} as const;
