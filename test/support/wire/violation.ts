/** Bytes that a careful HTTP/1.1 reader refuses. The message says which rule they break. */
export class Violation extends Error {
  override readonly name = 'Violation';
}
