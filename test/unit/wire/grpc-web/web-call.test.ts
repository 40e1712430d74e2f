import { describe, expect, it } from 'vitest';
import type { BodySink, BodySource } from '../../../../src/core/index.ts';
import { trailersOnly, WebCall } from '../../../../src/wire/grpc-web/index.ts';

const BINARY = ['Content-Type', 'application/grpc-web+proto'];
const TEXT = ['content-type', 'application/grpc-web-text'];

function message(text: string, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** What became of a request's body whose bytes came in these pieces. */
function sent(fields: readonly string[], pieces: readonly Buffer[]): string {
  const got: Buffer[] = [];
  const ends: string[] = [];
  let reader: BodySink | null = null;
  const source: BodySource = {
    started: false,
    start: sink => {
      reader = sink;
    },
    pause: () => {},
    resume: () => {},
  };
  const body = new WebCall(fields).requestBody(source, why => ends.push(why));
  body.start({
    chunk: bytes => got.push(bytes) > 0,
    end: () => ends.push('whole'),
    fail: () => ends.push('broken off'),
  });
  for (const piece of pieces) (reader as BodySink | null)?.chunk(piece);
  (reader as BodySink | null)?.end();
  return `${Buffer.concat(got).toString('latin1')}|${ends.join()}`;
}

/** Every way to cut bytes in three, some parts of which are empty. */
function splits(bytes: Buffer): Buffer[][] {
  const all: Buffer[][] = [];
  for (let i = 0; i <= bytes.length; i++)
    for (let j = i; j <= bytes.length; j++)
      all.push([bytes.subarray(0, i), bytes.subarray(i, j), bytes.subarray(j)]);
  return all;
}

const single = (bytes: Buffer) => Array.from(bytes, byte => Buffer.from([byte]));
const whole = (bytes: Buffer) => `${bytes.toString('latin1')}|whole`;

describe('the body of a request of gRPC-Web', () => {
  const messages = Buffer.concat([message('häl'), message(''), message('x', 1)]);

  it('is the same for the service, however it is split', () => {
    for (const pieces of [...splits(messages), single(messages)])
      expect(sent(BINARY, pieces)).toBe(whole(messages));
    expect(sent(BINARY, [])).toBe('|whole');
  });

  it('is decoded from text, however it is split', () => {
    for (let length = 0; length < 4; length++) {
      const bytes = message('abc'.slice(0, length));
      const text = Buffer.from(bytes.toString('base64'));
      for (const pieces of [...splits(text), single(text)]) expect(sent(TEXT, pieces)).toBe(whole(bytes));
    }
  });

  it('may be text whose pieces are padded one by one', () => {
    for (let cut = 1; cut < messages.length; cut++) {
      const text = messages.subarray(0, cut).toString('base64') + messages.subarray(cut).toString('base64');
      expect(sent(TEXT, single(Buffer.from(text)))).toBe(whole(messages));
    }
  });

  it('is refused if it is not base64', () => {
    for (const text of [
      'AAAA\n',
      'AA A',
      'AA-A',
      'AA_A',
      '=AAA',
      'A=AA',
      'AA=A',
      '====',
      'AAA\u0000',
      'ÄAAA',
    ])
      for (const pieces of splits(Buffer.from(text)))
        expect(sent(TEXT, pieces), text).toMatch(/^[^|]*\|the body is not base64$/);
  });

  it('is refused if it ends within a message, or within text', () => {
    const cut = 'the body ends within a message';
    for (let length = 1; length < messages.length; length++) {
      const part = messages.subarray(0, length);
      const isBetween = [message('häl').length, message('häl').length + 5].includes(length);
      expect(sent(BINARY, [part])).toBe(isBetween ? whole(part) : `${part.toString('latin1')}|${cut}`);
    }
    const text = Buffer.from(message('abc').toString('base64'));
    for (let length = 1; length < text.length; length++)
      expect(sent(TEXT, [text.subarray(0, length)])).toMatch(new RegExp(`\\|${cut}$`));
  });

  it('is refused at the first byte that begins no message, such as trailers', () => {
    const why = '|the body contains something other than messages';
    for (const flags of [2, 3, 0x80, 0x81, 0xff]) {
      expect(sent(BINARY, [message('a', flags)])).toBe(why);
      expect(sent(BINARY, [message('a'), message('b', flags)])).toBe(
        `${message('a').toString('latin1')}${why}`,
      );
    }
  });

  it('holds nothing of a message, however long it says it is', () => {
    const huge = Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]);
    expect(sent(BINARY, [huge])).toBe(`${huge.toString('latin1')}|the body ends within a message`);
  });

  it('has a length of its own only if it is no text', () => {
    expect(new WebCall(BINARY).requestLength(7)).toBe(7);
    expect(new WebCall(TEXT).requestLength(8)).toBe('chunked');
    expect(new WebCall(TEXT).requestLength(0)).toBe(0);
  });
});

/** The response to a client, of a service's pieces and trailers. */
function answered(fields: readonly string[], pieces: readonly Buffer[], trailers: readonly string[]) {
  const call = new WebCall(fields);
  const bytes = pieces.map(piece => call.responseBytes(piece));
  return [...bytes, call.end(trailers)];
}

const TRAILERS = ['grpc-status', '0', 'X-Mark', 'é', 'x-mark', 'two'];
const LINES = 'grpc-status: 0\r\nx-mark: é\r\nx-mark: two\r\n';
const FRAME = Buffer.concat([Buffer.from([0x80, 0, 0, 0, LINES.length]), Buffer.from(LINES, 'latin1')]);

describe('the body of a response to gRPC-Web', () => {
  const messages = Buffer.concat([message('häl'), message(''), message('x', 1)]);

  it('is that of the service with the trailers as its last frame', () => {
    for (const pieces of splits(messages))
      expect(answered(BINARY, pieces, TRAILERS)).toEqual([...pieces, FRAME]);
  });

  it('is text that is whole after each piece', () => {
    for (const pieces of splits(messages)) {
      const texts = answered(TEXT, pieces, TRAILERS).map(piece => String(piece));
      expect(texts.map(text => text.length % 4)).toEqual([0, 0, 0, 0]);
      const bytes = Buffer.concat(texts.map(text => Buffer.from(text, 'base64')));
      expect(bytes).toEqual(Buffer.concat([messages, FRAME]));
    }
  });

  it('gets no trailers within a message, which would swallow them', () => {
    for (let length = 1; length < 8; length++)
      expect(answered(BINARY, [message('abc').subarray(0, length)], TRAILERS).at(-1)).toBeNull();
  });

  it('passes nothing that a client would take for trailers', () => {
    expect(answered(BINARY, [message('a'), message('b', 0x80)], TRAILERS)).toEqual([
      message('a'),
      null,
      null,
    ]);
  });

  it('is all of a response that is nothing but trailers', () => {
    expect(trailersOnly(TRAILERS, false)).toEqual({
      contentType: 'application/grpc-web+proto',
      body: FRAME.toString('latin1'),
    });
    expect(trailersOnly(TRAILERS, true)).toEqual({
      contentType: 'application/grpc-web-text+proto',
      body: FRAME.toString('base64'),
    });
  });
});

describe('the fields of gRPC-Web', () => {
  it('are those of gRPC for the service', () => {
    const call = new WebCall(BINARY);
    const kept = ['x-user-agent', 'grpc-web-javascript/0.1', 'grpc-timeout', '1S'];
    const own = ['X-Grpc-Web', '1', 'Accept', 'a/b', 'accept-encoding', 'br'];
    expect(call.requestFields([...BINARY, ...own, ...kept])).toEqual([
      'Content-Type',
      'application/grpc+proto',
      ...kept,
    ]);
    expect(call.requestFields(TEXT)).toEqual(['content-type', 'application/grpc']);
  });

  it('say in a response what its client takes, and nothing of a length or trailers', () => {
    const fields = ['content-type', 'application/grpc+json', 'content-length', '7', 'trailer', 'a', 'x', 'y'];
    expect(new WebCall(BINARY).responseFields(fields)).toEqual([
      ...['content-type', 'application/grpc-web+json'],
      ...['x', 'y'],
    ]);
    expect(new WebCall(TEXT).responseFields(fields)[1]).toBe('application/grpc-web-text+json');
  });

  it('tell an answer of gRPC from another', () => {
    const isAnswer = (status: number, type: string) =>
      new WebCall(BINARY).isAnswer(status, ['content-type', type]);
    expect([isAnswer(200, 'application/grpc'), isAnswer(200, 'application/grpc+proto')]).toEqual([
      true,
      true,
    ]);
    for (const type of ['text/html', 'application/grpc-web', 'application/grpcs'])
      expect(isAnswer(200, type)).toBe(false);
    expect(isAnswer(503, 'application/grpc')).toBe(false);
  });
});
