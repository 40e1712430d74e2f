export { demoIssuer, walkSignIn } from './sign-in-flow.ts';
