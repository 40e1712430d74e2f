import { REPLY_FORMAT } from '../connection/index.ts';

/** What a script is asked to do, among its arguments. */
export const MODE = {
  /** DECIDE: read what is left of each limit. */
  read: 'read',
  /** DECIDE: say what would be decided. */
  look: 'look',
  /** DECIDE: consume units and take the lease, if all limits admit. */
  take: 'take',
  /** REFUND: return units. */
  refund: 'refund',
  /** REFUND: return the units of a request that another limit refused, and close the windows that it opened. */
  undo: 'undo',
  /** HOLD: renew leases. */
  renew: 'renew',
  /** HOLD: end leases. */
  end: 'end',
  /** HOLD: count leases. */
  count: 'count',
  /** HOLD: note that the caller has opened a shared counter. */
  note: 'note',
  /** HOLD: delete counters, and give up those listed. */
  drop: 'drop',
} as const;

/**
 * The steps of a decision. One server takes all limits in one. In a cluster, shared counters may be on other nodes than their
 * callers': one step each, after the caller's own, whose units are returned if a later step refuses.
 */
export const STEP = {
  /** All limits at once. */
  whole: 'whole',
  /** The caller's own limits, and its lease. */
  own: 'own',
  /** One shared limit. */
  shared: 'shared',
  /** The same for a caller that holds all the counters that it may: undecided if nobody has opened this one. */
  sharedIfOpen: 'shared_if_open',
  /** The counter that a caller's further main values share, instead of one that it may not open. */
  others: 'others',
} as const;

export type StepKind = (typeof STEP)[keyof typeof STEP];

/** The bits of the first number of a reply. All but the format are of a decision. */
export const REPLY = {
  admitted: 1 << 0,
  /** The counter that a caller's further main values share had a part in it. */
  usedOthers: 1 << 1,
  /** The counter of the caller's further values refused. */
  refusedByOthers: 1 << 2,
  /** Nothing was decided: the counter is not open, and the caller may open none. */
  undecided: 1 << 3,
  /** The caller holds all the counters that it may. */
  full: 1 << 4,
  /** The request opened the shared counter. */
  opened: 1 << 5,
  /** Only the requests in flight refused. */
  refusedAtOnce: 1 << 6,
  /** The lease was taken. */
  leased: 1 << 7,
  /** The requests in flight would have refused in shadow. */
  fullInShadow: 1 << 8,
  /** The first limit in shadow would have refused; the bits of the other fifteen follow: four windows of each of four roles. */
  refusedInShadow: 1 << 9,
  /** Higher than all others. */
  format: REPLY_FORMAT,
} as const;

/** Numbers in replies and arguments that mean "none". */
export const NONE = {
  /** No limit is described. */
  limit: 0,
  /** No unit was consumed. */
  window: 0,
} as const;

/** Stand for numbers that an undo restores to a limit. */
const RESTORE = {
  nothing: 0,
  /** The window was open with nothing consumed, and stays open. */
  openWindow: -1,
} as const;

const GROUPS = { MODE, STEP, REPLY, NONE, RESTORE };
const WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries(GROUPS).flatMap(([group, words]) =>
    Object.entries(words).map(([name, word]) => [`${group}.${name}`, JSON.stringify(word)] as const),
  ),
);

const NAMES = new RegExp(`\\b(?:${Object.keys(GROUPS).join('|')})\\.\\w+`, 'g');

/** Writes these words into Lua: `MODE.take`, `STEP.own` and `REPLY.admitted` become constants, so they cost nothing there. */
export function withWords(lua: string): string {
  return lua.replaceAll(NAMES, name => {
    const word = WORDS.get(name);
    if (word === undefined) throw new Error(`${name} is not a word of the scripts`);
    return word;
  });
}
