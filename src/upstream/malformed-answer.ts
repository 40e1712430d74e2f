/** What came from the upstream is not an answer to the request, or stopped being one. The message is for the log. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer';
}
