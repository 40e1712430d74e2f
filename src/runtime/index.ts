export { isReady, type Setup, transportTo } from './generation.ts';
export { Succession } from './generations.ts';
export { Limiting } from './limiting.ts';
export type { SharedStore } from './shared-store.ts';
