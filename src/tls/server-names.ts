/** Finds what belongs to the name of a host: by the whole name, else by a wildcard for its first label (RFC 9525, 6.3). */
export class ServerNames<Value> {
  readonly #values = new Map<string, Value>();

  /** @param entries names in lower case, `a.test` or `*.a.test`; where one is there twice, the first counts */
  constructor(entries: Iterable<readonly [name: string, value: Value]>) {
    for (const [name, value] of entries) if (!this.#values.has(name)) this.#values.set(name, value);
  }

  /** `name` as a client wrote it, in any letter case. */
  find(name: string): Value | undefined {
    const host = name.toLowerCase();
    return this.#values.get(host) ?? this.#values.get(`*${host.slice(host.indexOf('.'))}`);
  }
}
