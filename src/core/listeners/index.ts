export type { AdminApiListener, AdminChange, AdminEndpoint, AdminRefusal } from './admin-api-listener.ts';
export type {
  AuthListener,
  FlawedKey,
  InvalidReason,
  RevocationReason,
  SignatureAlgorithm,
} from './auth-listener.ts';
export type {
  ConnectionListener,
  HandshakeOutcome,
  Http2Fault,
  ProxyHeaderFault,
} from './connection-listener.ts';
export type {
  DecisionRecord,
  Draws,
  ExchangeListener,
  ExchangeRecord,
  MomentRecord,
  Outcome,
  Protocol,
  RestrictedBy,
  RestrictionRecord,
  TokenRefusal,
  TraceRecord,
} from './events.ts';
export type {
  DecisionEvent,
  EvictionEvent,
  HeldOutcome,
  LimitListener,
  RestrictionEvent,
  RestrictionReason,
  RestrictionRefusal,
  ShadowEvent,
  ShadowRefuser,
} from './limit-listener.ts';
export type {
  NoticeEvent,
  NoticeFlaw,
  NoticeKind,
  NoticeListener,
  NoticeOutcome,
} from './notice-listener.ts';
export type { OverloadListener } from './overload-listener.ts';
export type { AppliedEvent, ConfigEvent, ReloadListener, ReplacedEvent } from './reload-listener.ts';
export type {
  DiscoveryEvent,
  GrantKind,
  IntrospectionEvent,
  IntrospectionOutcome,
  RedeemEvent,
  RedeemOutcome,
  SignInListener,
  SignOutEvent,
  SignOutOutcome,
} from './sign-in-listener.ts';
export type { DecidedBy, StoreFailure, StoreListener } from './store-listener.ts';
