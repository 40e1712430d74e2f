/** Hears when the gateway sheds. Must be quick and must not throw. */
export interface OverloadListener {
  /** New work is refused from now on. `delayMs`: how late the event loop is, on the average of a second. */
  began(delayMs: number): void;
  /** All requests are served again. `refused`: those that were not. */
  ended(lastedMs: number, refused: number): void;
}
