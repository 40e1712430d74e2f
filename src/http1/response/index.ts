export {
  interimResponse,
  type LastResponse,
  type ResponseTerms,
  responseHead,
  type Switched,
} from './response-head.ts';
export { ResponseReader, type ResponseSink } from './response-reader.ts';
