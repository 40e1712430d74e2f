import { type Fields, withoutFields } from '../../core/index.ts';

// NTLM and Negotiate authenticate the connection that carries them, not the request (RFC 4559, 6): whatever follows on the
// connection is served as the same user.

const CHALLENGES = /^(?:www|proxy)-authenticate$/i;
/** The longest name of a field with challenges. */
const NAME_MAX_BYTES = 18;
const SCHEMES: ReadonlySet<string> = new Set(['ntlm', 'negotiate']);

/** Whether a request with this `Authorization` may authenticate the connection that carries it. */
export function authenticatesConnection(authorization: string | null): boolean {
  return authorization !== null && isOfConnections(authorization);
}

/** Whether a response with these fields asks the client to authenticate its connection. */
export function challengesConnection(fields: Fields): boolean {
  for (let i = 0; i + 1 < fields.length; i += 2)
    if (isChallenge(fields[i] as string) && challengesIn(fields[i + 1] as string).some(isOfConnections))
      return true;
  return false;
}

/**
 * Removes the challenges for connections.
 *
 * @returns `null` if no challenge is left, so that no client could authenticate
 */
export function withoutConnectionChallenges(fields: Fields): Fields | null {
  const kept = withoutFields(fields, isChallenge);
  const before = kept.length;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (!isChallenge(fields[i] as string)) continue;
    const left = challengesIn(fields[i + 1] as string).filter(challenge => !isOfConnections(challenge));
    if (left.length > 0) kept.push(fields[i] as string, left.join(', '));
  }
  return kept.length > before ? kept : null;
}

function isChallenge(name: string): boolean {
  return name.length <= NAME_MAX_BYTES && CHALLENGES.test(name);
}

/** True for one challenge, or one `Authorization`, of a scheme that authenticates connections. */
function isOfConnections(credentials: string): boolean {
  const [scheme = ''] = credentials.split(/[ \t]/, 1);
  return SCHEMES.has(scheme.toLowerCase());
}

/** An element of a list: quoted strings may contain commas (RFC 9110, 5.6.1 and 5.6.4). */
const ELEMENT = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
/** The beginning of a challenge, unlike a parameter of the one before it, has no `=` after its first word (RFC 9110, 11.3). */
const BEGINS_CHALLENGE = /^[^\s=]+(?:$|[ \t]+[^=\s])/;

/** Splits a list of challenges. */
function challengesIn(value: string): string[] {
  const challenges: string[] = [];
  for (const [element] of value.matchAll(ELEMENT)) {
    const text = element.trim();
    if (text === '') continue;
    const last = challenges.length - 1;
    if (last < 0 || BEGINS_CHALLENGE.test(text)) challenges.push(text);
    else challenges[last] += `, ${text}`;
  }
  return challenges;
}
