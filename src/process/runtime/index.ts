export * from './generations.ts';
export { Identity, type ProviderFacts } from './identity.ts';
export { SharedIssuers } from './issuer-sharing.ts';
export { type KeptState, openState } from './kept-state.ts';
export { type Allowances, followLimits, Limiting, memoryCounters } from './limiting.ts';
export { loadSharedStore, type NewSharedStore } from './load-store.ts';
export { Overload } from './overload.ts';
export { Blocked, noteRefusal, Restricting } from './restricting.ts';
export type { SharedStore } from './shared-store.ts';
