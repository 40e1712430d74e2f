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

type EveryListener = AuthListener &
  ExchangeListener &
  LimitListener &
  NoticeListener &
  OverloadListener &
  ProxyListener &
  SignInListener &
  StoreListener;

/** Ignores every event: a test looks at responses only. */
export const SILENT: EveryListener = new Proxy({} as EveryListener, { get: () => () => {} });
