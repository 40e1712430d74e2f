export { forward } from './forward.ts';
export { serveNotice, serveOptions, servePreflight, serveRedirect, serveSignIn } from './own-answers.ts';
