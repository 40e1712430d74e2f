/** What a client read from an upstream's bytes. Strings have a character for each byte. */
export interface Reading {
  /**
   * - `whole`: a response with its end
   * - `part`: the connection ended inside a response, or before one
   * - `refused`: the bytes are no response, or stopped being one
   */
  outcome: 'whole' | 'part' | 'refused';
  /** Status and fields of the interim responses, 100 left out, which every client swallows. */
  readonly interim: (readonly [number, readonly string[]])[];
  /** 0: there was no final head. */
  status: number;
  /** null: the client does not report it. */
  reason: string | null;
  /** Names and values. Without `Transfer-Encoding`. */
  fields: readonly string[];
  body: string;
  trailers: readonly string[];
}

export function emptyReading(): Reading {
  return { outcome: 'part', interim: [], status: 0, reason: '', fields: [], body: '', trailers: [] };
}

/** Pairs without those of this name, given in lower case. */
export function without(fields: readonly string[], lowerName: string): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? '';
    if (name.toLowerCase() !== lowerName) kept.push(name, fields[i + 1] ?? '');
  }
  return kept;
}
