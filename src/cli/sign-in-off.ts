import { type Snapshot, signInProvider } from '../config/index.ts';

/** What `weir check` and the first line of a gateway say where tokens are only checked: a forgotten key would look the same. */
export const SIGN_IN_OFF = 'sign-in is off: no redirect_uri';

export function isSignInOff({ identity }: Snapshot): boolean {
  return identity !== null && signInProvider(identity) === null;
}
