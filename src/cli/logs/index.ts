export { countOf, formatCount, logNotes, percent, sentences, table } from './columns.ts';
export { failed, STORES, type Store, sizeOf, withoutDecisions } from './files.ts';
export { Progress } from './progress.ts';
