export { forward } from './forward.ts';
export { serveOptions, servePreflight, serveRedirect } from './immediate.ts';
export { serveNotice } from './notice.ts';
export { serveSignIn } from './sign-in.ts';
