export { forward } from './forward.ts';
export {
  serveAnswer,
  serveMetadata,
  serveNotice,
  serveOptions,
  servePreflight,
  serveRedirect,
  serveSignIn,
} from './own-answers.ts';
