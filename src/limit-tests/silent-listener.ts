import type {
  AuthListener,
  ExchangeListener,
  LimitListener,
  NoticeListener,
  OverloadListener,
  ProxyListener,
  SignInListener,
  StoreListener,
} from '../core/index.ts';

const nothing = () => {};

/** Hears everything and says nothing: a test looks at responses alone. */
export const SILENT: AuthListener &
  ExchangeListener &
  LimitListener &
  NoticeListener &
  OverloadListener &
  ProxyListener &
  SignInListener &
  StoreListener = {
  ...{
    started: nothing,
    switched: nothing,
    lasting: nothing,
    finished: nothing,
    untrustedForwarding: nothing,
  },
  ...{
    decided: nothing,
    refusedByRestriction: nothing,
    shadowRefused: nothing,
    held: nothing,
    shadowRestricted: nothing,
    invalid: nothing,
  },
  ...{ restricted: nothing, prolonged: nothing, released: nothing, evicted: nothing },
  ...{ decidedBy: nothing, failed: nothing, lost: nothing, found: nothing },
  ...{ behind: nothing, caughtUp: nothing, shareFailed: nothing, subscribed: nothing },
  ...{ beat: nothing },
  ...{ began: nothing, ended: nothing, unlistedProxy: nothing },
  ...{ tokenKnown: nothing, signatureChecked: nothing, tokenRefused: nothing, tokenUndecided: nothing },
  ...{ budgetSpent: nothing, keySetLoaded: nothing, keySetFailed: nothing, revocationEvicted: nothing },
  ...{
    redeemed: nothing,
    discovered: nothing,
    signedOut: nothing,
    introspected: nothing,
    noticeReceived: nothing,
  },
};
