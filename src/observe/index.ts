export { type Logger, type LoggingOptions, makeLogger, standardOutput } from './log/index.ts';
export type { CertificateView } from './metrics/index.ts';
export { Observation } from './observation.ts';
