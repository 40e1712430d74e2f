import { UsageError } from './command.ts';

/** Options that give claims. */
export interface ClaimOptions {
  readonly client?: string | undefined;
  readonly subject?: string | undefined;
  readonly claim?: readonly string[] | undefined;
}

/** The claims on the command line, by name. Throws a UsageError for one that no token can have, or that is given twice. */
export function readClaims({ client, subject, claim = [] }: ClaimOptions): ReadonlyMap<string, string> {
  const claims = new Map<string, string>();
  if (client !== undefined) claims.set('azp', nonEmpty('--client', client));
  if (subject !== undefined) claims.set('sub', nonEmpty('--subject', subject));
  for (const pair of claim) {
    const [, name = '', value = ''] = /^([^=]+)=(.+)$/s.exec(pair) ?? [];
    if (name === '') throw new UsageError(`--claim takes NAME=VALUE, not "${pair}"`);
    if (claims.has(name)) throw new UsageError(`the claim ${name} is given twice`);
    claims.set(name, value);
  }
  return claims;
}

function nonEmpty(option: string, value: string): string {
  if (value === '') throw new UsageError(`${option} is empty: is a shell variable unset?`);
  return value;
}
