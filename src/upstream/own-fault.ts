/** Something inside the gateway failed while it read what an upstream sent: nothing that the upstream could mend. */
export class OwnFault extends Error {
  override readonly name = 'OwnFault';

  /** @param cause what was thrown */
  constructor(cause: unknown) {
    super('the gateway failed to read what the upstream sent', { cause });
  }
}
