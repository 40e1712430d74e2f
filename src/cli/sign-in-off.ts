import { type Snapshot, signInProvider } from '../config/index.ts';

/** Shown by `weir check` and in a gateway's first log line if it only checks tokens, because a forgotten `redirect_uri` has the same effect. */
export const SIGN_IN_OFF = 'sign-in is off: no redirect_uri';

export function isSignInOff({ identity }: Snapshot): boolean {
  return identity !== null && signInProvider(identity) === null;
}
