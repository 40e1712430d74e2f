export * from './error-page.ts';
export * as errors from './errors.ts';
export { USUAL_METHODS } from './errors.ts';
export * from './own-fields.ts';
export * from './rate-limit-error.ts';
export * from './render-error.ts';
export * from './upstream-429.ts';
