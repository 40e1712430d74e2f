export { count, countOf, share, table } from './columns.ts';
export { failed, sizeOf, withoutDecisions } from './files.ts';
export { logNotes, sentences } from './notes.ts';
export { Progress } from './progress.ts';
export { STORES, type Store } from './stores.ts';
