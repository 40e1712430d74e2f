export * from './generations.ts';
export { Identity, type ProviderFacts } from './identity.ts';
export type { IssuerSharing, IssuerState, LearntIssuers, ToldIssuers } from './issuer-sharing.ts';
export { type KeptState, openState } from './kept-state.ts';
export { type Allowances, followLimits, Limiting, memoryCounters } from './limiting.ts';
export { Overload } from './overload.ts';
export type { Replication, ThreadPart } from './replication.ts';
export { Blocked, noteRefusal, Restricting } from './restricting.ts';
export type { SharedStore } from './shared-store.ts';
