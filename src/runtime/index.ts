export { type Generation, isReady, transportTo } from './generation.ts';
export { Generations } from './generations.ts';
export { Limiting } from './limiting.ts';
export type { SharedStore } from './shared-store.ts';
