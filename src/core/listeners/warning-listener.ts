/**
 * Is notified of what operators should know: once for all threads, and for unlisted proxies once for each. Each event has a line in
 * the log, and no metric.
 */
export interface WarningListener {
  /**
   * Must be called rarely: at most about once a minute for each subject.
   *
   * @param line the members of the line, without secrets and principals
   * @param message what happens, and what to do about it
   */
  warned(line: { readonly type: string } & Readonly<Record<string, string | number>>, message: string): void;
}
