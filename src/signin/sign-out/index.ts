export { SignOut } from './sign-out.ts';
