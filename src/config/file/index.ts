export { ConfigFile, readNamedText } from './config-file.ts';
export type { Diagnostic, Path, RawMap, Read, Severity } from './diagnostic.ts';
export { asList, asMap, formatDiagnostic, formatPath, isMap, textsIn } from './diagnostic.ts';
export { type FilePlace, KeyPlaces, LimitsFiles } from './limits-files.ts';
export { falseBlankIn } from './odd-characters.ts';
export {
  listYamlFiles,
  Readings,
  type ReadingsData,
  readConfigFile,
  type Secrecy,
  withFastHeap,
  withLeanHeap,
  withoutPipes,
} from './readings.ts';
export { Section } from './section.ts';
export * from './suggest.ts';
export type { Environment } from './yaml-tree.ts';
