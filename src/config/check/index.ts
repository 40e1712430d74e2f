export { crossCheck } from './cross-checks.ts';
export { checkLimits } from './limit-checks.ts';
export { secretsIn } from './secret-checks.ts';
