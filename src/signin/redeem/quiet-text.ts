const MAX_LENGTH = 200;
const REMOVED = '[...]';
/** Stands for a cut secret until its word is removed: no plain word has it. One character, so that text never grows. */
const CUT = '*';

/**
 * A word of plain language, or an identifier like `invalid_grant`: no digits, no capitals amid small letters, and too short
 * for a token.
 */
const PLAIN_WORD = /^(?=.{1,24}$)[("']*[A-Za-z](?:[a-z_'-]*|[A-Z_]*)[.,:;)"']*$/;

/**
 * The provider's own explanation, made fit for a log: whatever is among the secrets is cut out, and so is every word that
 * could be a code or a token. "Code not valid" stays as it is, which is what an operator needs to tell one
 * `invalid_grant` from another.
 */
export function quietText(text: string, secrets: readonly string[]): string {
  let quiet = text;
  // The longest first: a short one, cut out of a long one, would leave pieces of it.
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) {
    if (secret !== '') quiet = quiet.replaceAll(secret, CUT);
  }
  const words = quiet.split(/[^\x21-\x7e]+/, 40).filter(word => word !== '');
  return words
    .map(word => (PLAIN_WORD.test(word) ? word : REMOVED))
    .join(' ')
    .slice(0, MAX_LENGTH);
}
