/** What came is no message of HTTP/1.1, or stopped being one. The text is for the log. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}
