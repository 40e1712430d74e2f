import type { Exchange, Served } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { noRoute } from '../responses/index.ts';
import { forward } from './forward.ts';
import { serveOptions, servePreflight, serveRedirect } from './immediate.ts';
import { serveNotice } from './notice.ts';
import { serveSignIn } from './sign-in.ts';

/** Hands an exchange that has passed the gates to its terminal, which answers it now or later. */
export function serveExchange(exchange: Exchange, state: GatewayState): Served {
  const { destination } = exchange;
  switch (destination.kind) {
    case 'forward':
      return forward(exchange, destination, state);
    case 'sign-in':
      return serveSignIn(exchange, destination);
    case 'notice':
      return serveNotice(exchange, destination);
    case 'preflight':
      return servePreflight(exchange, destination);
    case 'redirect':
      return serveRedirect(exchange, destination);
    case 'options':
      return serveOptions(exchange, destination);
    case 'nowhere':
      return exchange.answerError(noRoute());
  }
}
