export { ConfigWatcher, type ConfigWatcherOptions } from './config-watcher.ts';
export { type Reload, ReloadRecord } from './reload-record.ts';
export {
  type FixedValue,
  fixedValuesOf,
  RESTART_KEYS,
  type RestartKey,
  restartKeys,
} from './restart-keys.ts';
