/** Reads requests, arrays of texts, from bytes that come in any pieces. */
export class RequestReader {
  #bytes = '';

  /** Returns the requests that are whole by now. Text is Latin-1. */
  read(bytes: Uint8Array): string[][] {
    this.#bytes += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    const requests: string[][] = [];
    let from = 0;
    for (;;) {
      const read = this.#readOne(from);
      if (read === null) break;
      requests.push(read.words);
      from = read.end;
    }
    this.#bytes = this.#bytes.slice(from);
    return requests;
  }

  #readOne(from: number): { words: string[]; end: number } | null {
    const head = this.#number(from, '*');
    if (head === null) return null;
    const words: string[] = [];
    let at = head.end;
    while (words.length < head.value) {
      const size = this.#number(at, '$');
      if (size === null) return null;
      const end = size.end + size.value;
      if (this.#bytes.length < end + 2) return null;
      words.push(this.#bytes.slice(size.end, end));
      at = end + 2;
    }
    return { words, end: at };
  }

  /** Reads a line of a sign and a number. */
  #number(from: number, sign: string): { value: number; end: number } | null {
    const end = this.#bytes.indexOf('\r\n', from);
    if (end < 0) return null;
    const value = Number(this.#bytes.slice(from + 1, end));
    if (this.#bytes[from] !== sign || !Number.isSafeInteger(value) || value < 0)
      throw new Error(`the model of Redis reads no such request: ${this.#bytes.slice(from, end)}`);
    return { value, end: end + 2 };
  }
}
