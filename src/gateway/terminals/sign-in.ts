import { firstValue, GatewayError, GrowingBytes } from '../../core/index.ts';
import type { BodyTerms } from '../../http1/index.ts';
import { MAX_REQUEST_BYTES, mediaTypeRefusal, type SignIn, type SignInResponse } from '../../signin/index.ts';
import type { Exchange, SignInHere } from '../exchange/index.ts';
import { addOwnFields, bodyTooLarge, internalFault, noRoute, wrongMethod } from '../responses/index.ts';

/**
 * The body is small, so one deadline covers all of it. `readWhole` limits the size of the data but not of its framing, which a
 * client cannot control; the deadline limits that well enough.
 */
const BODY_TERMS: BodyTerms = { maxBytes: null, minBytesPerS: null, deadlineMs: 10_000 };

/** Serves the two anonymous endpoints (docs/contract.md, 1). */
export function serveSignIn(exchange: Exchange, { route }: SignInHere): void {
  const signIn = exchange.generation.identity?.signIn;
  if (signIn === undefined) exchange.answerError(noRoute());
  else if (!route.methods.includes(exchange.downstream.method))
    exchange.answerError(wrongMethod(route.methods.join(', ')));
  else if (route.endpoint === 'auth') serveAuth(exchange, signIn);
  else reply(exchange, signIn.authorizeUrl());
}

function serveAuth(exchange: Exchange, signIn: SignIn): void {
  const refusal = bodyRefusal(exchange);
  if (refusal !== null) {
    exchange.answerError(refusal);
    return;
  }
  if (exchange.bodyLength === 0) {
    redeem(exchange, signIn, Buffer.alloc(0));
    return;
  }
  readWhole(exchange, body => redeem(exchange, signIn, body));
}

function bodyRefusal(exchange: Exchange): GatewayError | null {
  if (exchange.bodyLength !== 'chunked' && exchange.bodyLength > MAX_REQUEST_BYTES) return bodyTooLarge();
  return mediaTypeRefusal(firstValue(exchange.head.kept, 'content-type')) ?? null;
}

/** Reads the body. A client that disconnects before its end has asked for nothing; after that, redeeming goes on without it. */
function readWhole(exchange: Exchange, then: (body: Buffer) => void): void {
  const joined = new GrowingBytes(MAX_REQUEST_BYTES);
  let whole: Buffer = Buffer.alloc(0);
  exchange.downstream.body(BODY_TERMS).start({
    chunk: bytes => {
      if (exchange.response.isSettled) return true;
      if (whole.length + bytes.length > MAX_REQUEST_BYTES) exchange.answerError(bodyTooLarge());
      else whole = joined.join(whole, bytes);
      return true;
    },
    end: () => {
      if (!exchange.response.isSettled) then(whole);
    },
    fail: () => {},
  });
}

function redeem(exchange: Exchange, signIn: SignIn, body: Buffer): void {
  signIn.redeem(body, exchange.addressKey).then(
    response => {
      if (!exchange.response.isSettled) reply(exchange, response);
    },
    (fault: unknown) => {
      if (!exchange.response.isSettled) exchange.answerError(internalFault(fault));
    },
  );
}

function reply(exchange: Exchange, response: SignInResponse | GatewayError): void {
  if (response instanceof GatewayError) {
    exchange.answerError(response);
    return;
  }
  const fields = [...response.fields, 'Content-Length', String(response.body.length)];
  addOwnFields(fields, exchange, exchange.rate);
  exchange.response.finish('answered', response.status, 'OK', fields, response.body.toString('latin1'));
}
