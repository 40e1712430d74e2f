/**
 * Whether an error of Redis has one of these codes. Redis before 7 wraps what a command of a script answers, so the code may stand
 * anywhere: "ERR Error running script (call to f_...): @user_script:5: @user_script: 5: -READONLY You can't write ...".
 */
export function hasCode({ message }: Error, codes: ReadonlySet<string>): boolean {
  for (const [, code = ''] of message.matchAll(/(?:^|[\s-])([A-Z]{3,})(?=\s)/g))
    if (codes.has(code)) return true;
  return false;
}

/** This server is not, or not yet, the one to write to: another connection may lead to the right one. */
export const WRONG_SERVER: ReadonlySet<string> = new Set(['READONLY', 'MASTERDOWN', 'LOADING']);

/** Only some slots of a cluster cannot be used: they are being moved. */
export const SOME_SLOTS: ReadonlySet<string> = new Set(['TRYAGAIN', 'ASK', 'MOVED']);

export const UNKNOWN_SCRIPT: ReadonlySet<string> = new Set(['NOSCRIPT']);
