export { ConfigFile } from './config-file.ts';
export {
  asMap,
  type Diagnostic,
  formatDiagnostic,
  formatPath,
  isMap,
  type Path,
  type Severity,
} from './diagnostic.ts';
export type { Environment } from './environment.ts';
export { type FilePlace, KeyPlaces } from './key-places.ts';
export { LimitsFiles } from './limits-files.ts';
export { listYamlFiles } from './limits-folder.ts';
export { readNamedText } from './named-file.ts';
export { readConfigFile, withLeanHeap } from './read-file.ts';
export { Readings, type Secrecy } from './readings.ts';
export { didYouMean, nearestWord } from './suggest.ts';
