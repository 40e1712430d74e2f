import { MAX_NOTICE_BYTES, type NoticeResponse } from '../../auth/index.ts';
import { firstValue } from '../../core/index.ts';
import type { Exchange, NoticeHere, Served } from '../exchange/index.ts';
import { addOwnFields, noRoute, wrongMethod } from '../responses/index.ts';
import { answerLater, readWhole } from './whole-body.ts';

/** Serves notices that the provider sends by itself, such as logouts, where the configuration gives them a public path. */
export function serveNotice(exchange: Exchange, { route }: NoticeHere): Served {
  const notices = exchange.generation.identity?.notices;
  if (notices === undefined) return exchange.answerError(noRoute());
  if (!route.methods.includes(exchange.downstream.method))
    return exchange.answerError(wrongMethod(route.methods.join(', ')));
  return readWhole(exchange, MAX_NOTICE_BYTES, body => {
    const contentType = firstValue(exchange.downstream.fields, 'content-type');
    // The promise always settles: fetching keys has a timeout, and so has Redis.
    const taken = notices.take({ kind: route.notice, contentType, body, address: exchange.addressKey });
    return answerLater(exchange, taken, response => reply(exchange, response));
  });
}

function reply(exchange: Exchange, { status, reason, fields, body }: NoticeResponse): Served {
  // RFC 9110, 8.6: a 204 has no Content-Length.
  const all = status === 204 ? [...fields] : [...fields, 'Content-Length', String(body.length)];
  addOwnFields(all, exchange, exchange.rate);
  return exchange.response.finish('answered', status, reason, all, body);
}
