export { compileGateway, type Sources } from './compile.ts';
export { ENOUGH_FOR_A_PAGE, hintsAtDefaultLimits } from './default-limits.ts';
export { capFindings, writtenCaps } from './memory-use.ts';
export { readApiKeys } from './read-api-keys.ts';
export * from './read-limits.ts';
