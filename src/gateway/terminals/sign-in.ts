import { firstValue, GatewayError } from '../../core/index.ts';
import { MAX_REQUEST_BYTES, mediaTypeRefusal, type SignIn, type SignInResponse } from '../../signin/index.ts';
import type { Exchange, Served, SignInHere } from '../exchange/index.ts';
import {
  addOwnFields,
  bodyTooLarge,
  noRoute,
  signedInElsewhere,
  unauthenticated,
  wrongMethod,
} from '../responses/index.ts';
import { answerLater, readWhole } from './whole-body.ts';

/** Serves the sign-in endpoints (docs/contract.md, 1). */
export function serveSignIn(exchange: Exchange, { route }: SignInHere): Served {
  const signIn = exchange.generation.identity?.signIn ?? null;
  if (signIn === null) return exchange.answerError(noRoute());
  if (!route.methods.includes(exchange.downstream.method))
    return exchange.answerError(wrongMethod(route.methods.join(', ')));
  const { addressKey } = exchange;
  switch (route.endpoint) {
    case 'authorize-url':
      return reply(exchange, signIn.authorizeUrl());
    case 'auth':
      return serveBody(exchange, body => signIn.redeem(body, addressKey));
    case 'refresh':
      return serveBody(exchange, body => signIn.refresh(body, addressKey));
    case 'sign-out':
      return serveSignOut(exchange, signIn);
  }
}

/** Signs out the caller whom the gates have identified, once the whole body has come. */
function serveSignOut(exchange: Exchange, signIn: SignIn): Served {
  const { caller, addressKey, refusedToken, generation } = exchange;
  if (caller === null) return exchange.answerError(unauthenticated(refusedToken));
  const endSession = () => generation.identity?.endSession(caller);
  if (caller.issuer !== signIn.issuer) {
    // Its refresh token belongs to another provider than the one that would get it.
    endSession();
    return exchange.answerError(signedInElsewhere());
  }
  return serveBody(exchange, body => signIn.signOut(body, addressKey, endSession));
}

/** Makes the response from the body of a request. */
type Use = (body: Buffer) => Promise<SignInResponse | GatewayError>;

function serveBody(exchange: Exchange, use: Use): Served {
  const refusal = bodyRefusal(exchange);
  if (refusal !== null) return exchange.answerError(refusal);
  return readWhole(exchange, MAX_REQUEST_BYTES, body =>
    // The promise always settles: the provider has a timeout.
    answerLater(exchange, use(body), response => reply(exchange, response)),
  );
}

function bodyRefusal(exchange: Exchange): GatewayError | null {
  if (exchange.bodyLength !== 'chunked' && exchange.bodyLength > MAX_REQUEST_BYTES) return bodyTooLarge();
  return mediaTypeRefusal(firstValue(exchange.downstream.fields, 'content-type')) ?? null;
}

function reply(exchange: Exchange, response: SignInResponse | GatewayError): Served {
  if (response instanceof GatewayError) return exchange.answerError(response);
  const { status, body } = response;
  // RFC 9110, 8.6: a 204 has no Content-Length.
  const length = status === 204 ? [] : ['Content-Length', String(body.length)];
  const fields = [...response.fields, ...length];
  addOwnFields(fields, exchange, exchange.rate);
  const reason = status === 204 ? 'No Content' : 'OK';
  return exchange.response.finish('answered', status, reason, fields, body.toString('latin1'));
}
