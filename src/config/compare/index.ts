export { type Change, isStricter } from './change.ts';
export { changesInWords, changesOf, changesOfLimits } from './compare.ts';
export { settingsOf } from './compare-settings.ts';
