/** Writes paths for the log. */
export interface PathNaming {
  /**
   * A path with what the configuration names as it is, and `{name}` for each segment that a client chose. `path`: canonical;
   * `isCall`: of a gRPC call.
   */
  rewrite(path: string, isCall: boolean, name: (value: string) => string): string;
}
