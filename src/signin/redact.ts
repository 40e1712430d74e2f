const MAX_LENGTH = 200;
const REMOVED = '[...]';
/** Marks a cut secret until its word is removed; no plain word contains it. One character, so text never grows. */
const CUT = '*';

/**
 * An ordinary word, or an identifier like `invalid_grant`: no digits, no capitals after small letters, and too short for a
 * token.
 */
const PLAIN_WORD = /^(?=.{1,24}$)[("']*[A-Za-z](?:[a-z_'-]*|[A-Z_]*)[.,:;)"']*$/;

/**
 * Makes the provider's explanation safe to log: removes the known secrets and every word that could be a code or a token.
 * "Code not valid" stays as it is, so an operator can tell one `invalid_grant` from another.
 */
export function redact(text: string, secrets: readonly string[]): string {
  let quiet = text;
  // Longest first: cutting a short secret out of a longer one would leave pieces of the longer.
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) {
    if (secret !== '') quiet = quiet.replaceAll(secret, CUT);
  }
  const words = quiet.split(/[^\x21-\x7e]+/, 40).filter(word => word !== '');
  return words
    .map(word => (PLAIN_WORD.test(word) ? word : REMOVED))
    .join(' ')
    .slice(0, MAX_LENGTH);
}
