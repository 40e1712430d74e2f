/** A listener that ignores every event. */
export function silent<Listener extends object>(): Listener {
  return Object.create(IGNORING);
}

const IGNORING = new Proxy({}, { get: () => () => {} });
