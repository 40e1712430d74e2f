export * from './compare.ts';
export { settingsOf } from './compare-settings.ts';
