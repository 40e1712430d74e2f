import type { PlacedMistake } from './yaml-text.ts';

/**
 * A secret never stands in a configuration file. Where somebody writes one all the same, the file may be broken because of
 * its characters, and what the parser then says quotes them: on such lines its messages are replaced.
 */
export function withoutSecrets(mistakes: readonly PlacedMistake[], text: string): PlacedMistake[] {
  const lines = text.split('\n');
  return mistakes.map(mistake => {
    const [before = '', line = ''] = [lines[mistake.line - 2], lines[mistake.line - 1]];
    if (!holdsSecret(line) && !/(client_secret|password)["']?\s*:[^A-Za-z0-9]*$/.test(before)) return mistake;
    return HARMLESS.test(mistake.message) ? mistake : { ...mistake, message: UNREADABLE };
  });
}

function holdsSecret(line: string): boolean {
  return /(client_secret|password)["']?\s*:/.test(line);
}

/** Names a variable at most. */
const HARMLESS = /^(this key is already there|the environment variable [A-Za-z0-9_]+ is not set)$/;

const UNREADABLE = `this line cannot be read, and is not shown for the secret in it: write client_secret: "\${NAME}", a variable of the environment`;
