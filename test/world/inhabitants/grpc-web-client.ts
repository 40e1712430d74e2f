import type { Draws } from '../kernel/draws.ts';
import type { Asked } from '../requests.ts';
import { type CallAnswer, CallClient, metadataOf, pseudoFieldsOf } from './call-client.ts';
import { HASTY_WORDS } from './grpc-service.ts';
import {
  drawForm,
  fieldsOfForm,
  isTypeFor,
  partWebBody,
  type WebBody,
  type WebForm,
  webBodyFor,
} from './grpc-web-body.ts';
import { type Http1Connection, Http1Connections } from './http1-connection.ts';
import { type Ended, Exchange, Http2Connections, restsBy, upload } from './http2-connection.ts';
import type { Response } from './response-reader.ts';

const NONE: ReadonlyMap<string, string> = new Map();

/** A call as its client sends it. */
interface WebCall {
  readonly asked: Asked;
  readonly form: WebForm;
  readonly body: WebBody;
  readonly draws: Draws;
  readonly givesUpMs: number;
}

/** How a call ended, and what of its response has come. */
interface WebAnswer {
  readonly end: Ended;
  readonly response: Response | null;
}

/** A client that speaks gRPC-Web as browsers do: binary or as text. Some of its requests are wrong, or never end. */
export class GrpcWebClient extends CallClient {
  readonly #speaksHttp2 = this.world.draws.part(`version of ${this.name}`).percent(40);
  readonly #http1 = new Http1Connections(this.world, gateway => this.connect(gateway));
  readonly #http2 = new Http2Connections(this.world, gateway => this.connect(gateway));

  protected async ask(asked: Asked, draws: Draws, givesUpMs: number): Promise<CallAnswer> {
    const form = drawForm(draws);
    const body = webBodyFor(asked.id, form, draws, this.isProbe(asked));
    const call = { asked, form, body, draws, givesUpMs };
    return this.#read(call, await (this.#speaksHttp2 ? this.#askOverHttp2(call) : this.#askOverHttp1(call)));
  }

  async #askOverHttp1(call: WebCall): Promise<WebAnswer> {
    const { asked, form, body, draws, givesUpMs } = call;
    const isProbe = this.isProbe(asked);
    const connection = isProbe ? this.#http1.open(asked.gateway) : this.#http1.to(asked.gateway, draws);
    const answer = connection.ask(asked, headOf(asked, form, body));
    void this.#send(connection, call);
    const giveUp = this.after(givesUpMs, () => connection.socket.destroy());
    const response = await answer;
    giveUp.run = null;
    if (body.end !== 'proper') connection.socket.destroy();
    else if (isProbe || response?.fields.get('connection') === 'close') connection.socket.end();
    return { end: response ?? 'broken', response: response ?? connection.part };
  }

  async #send(connection: Http1Connection, { body, draws }: WebCall): Promise<void> {
    const { text, length, end } = body;
    await connection.upload(text, draws, length === null);
    if (end === 'leave') connection.socket.destroy();
    if (end === 'proper' && length === null) connection.endChunks();
  }

  async #askOverHttp2({ asked, form, body, draws, givesUpMs }: WebCall): Promise<WebAnswer> {
    const isProbe = this.isProbe(asked);
    const connection = isProbe ? this.#http2.open(asked.gateway) : this.#http2.to(asked.gateway, draws);
    const { promise, resolve } = Promise.withResolvers<Ended>();
    // Who reads slowly may get the end of a call behind its deadline.
    const isReader = isProbe || asked.path.includes(HASTY_WORDS);
    const rests = isReader ? () => false : restsBy(draws, (ms, run) => this.after(ms, run));
    const exchange = new Exchange(resolve, rests);
    const length = body.length === null ? [] : ['content-length', String(body.length)];
    const fields = [...pseudoFieldsOf(asked), ...fieldsOfForm(form), ...metadataOf(asked), ...length];
    connection.open(asked, fields, exchange, false);
    const send = async () => {
      await upload(this.world, exchange.stream, Buffer.from(body.text, 'latin1'), draws);
      if (body.end === 'leave') exchange.giveUp();
      if (body.end === 'proper') exchange.stream?.end();
    };
    void send();
    const giveUp = this.after(givesUpMs, () => exchange.giveUp());
    const end = await promise;
    giveUp.run = null;
    if (isProbe) connection.close();
    else if (body.end === 'silence') exchange.stream?.cancel();
    return { end, response: exchange.response };
  }

  /** Looks whether the response is one of gRPC-Web. */
  #read({ asked, form }: WebCall, { end, response }: WebAnswer): CallAnswer {
    if (response === null) return { end, fields: NONE, trailers: NONE, messages: '' };
    const { status, fields, body } = response;
    const wrong = (what: string) => this.wrongResponse(asked, what);
    const type = fields.get('content-type');
    if (status !== 200) wrong(`the status ${status}`);
    if (!isTypeFor(form, type)) wrong(`the content type ${type}`);
    if (fields.has('grpc-status')) wrong('a status of gRPC in its head');
    const isText = type?.startsWith('application/grpc-web-text') === true;
    const { messages, trailers, flaw } = partWebBody(body, isText, typeof end !== 'string');
    if (flaw !== null) wrong(flaw);
    return { end, fields, trailers, messages };
  }
}

function headOf(asked: Asked, form: WebForm, { length }: WebBody): string {
  const framing = length === null ? ['transfer-encoding', 'chunked'] : ['content-length', String(length)];
  const fields = ['host', 'api.test', ...fieldsOfForm(form), ...metadataOf(asked), ...framing];
  let head = `POST ${asked.path} HTTP/1.1\r\n`;
  for (let i = 0; i + 1 < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  return `${head}\r\n`;
}
