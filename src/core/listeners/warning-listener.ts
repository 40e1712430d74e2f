/** Is told what operators should know: once for all threads, and of proxies that are not listed once for each. It has a line in the log, and no metric counts it. */
export interface WarningListener {
  /**
   * Must be called rarely: no more than about once a minute for each thing that it is about.
   *
   * @param line the members of the line, without secrets and principals
   * @param message what happens, and what to do about it
   */
  warned(line: { readonly type: string } & Readonly<Record<string, string | number>>, message: string): void;
}
