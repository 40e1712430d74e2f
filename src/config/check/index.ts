export { checkKeyClasses } from './caller-checks.ts';
export { crossCheck } from './cross-checks.ts';
export { secretsIn } from './identity-checks.ts';
export { checkLimits } from './limit-checks.ts';
