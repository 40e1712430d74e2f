export { forward } from './forward.ts';
export * from './own-answers.ts';
