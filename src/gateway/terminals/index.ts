export { forward } from './forward.ts';
export {
  serveMetadata,
  serveNotice,
  serveOptions,
  servePreflight,
  serveRedirect,
  serveSignIn,
} from './own-answers.ts';
