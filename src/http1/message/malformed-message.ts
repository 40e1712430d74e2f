/** The bytes are not, or no longer, a message of HTTP/1.1. The text is for the log. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}
