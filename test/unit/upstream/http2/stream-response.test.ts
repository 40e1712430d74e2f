import { beforeEach, describe, expect, it } from 'vitest';
import { StreamResponse } from '../../../../src/upstream/http2/stream-response.ts';
import { CollectingSink } from '../../../support/collecting-sink.ts';

let sink: CollectingSink;

beforeEach(() => {
  sink = new CollectingSink();
});

function responseTo(method = 'GET', isCall = false): StreamResponse {
  return new StreamResponse(method, sink, 1_000, isCall);
}

const head = (status: number, ...fields: string[]) => [':status', String(status), ...fields];

describe('a response on a stream', () => {
  it('is handed on whole when it is small and comes at once', () => {
    const response = responseTo();
    response.readHead(head(200, 'content-length', '5'), false);
    response.readData(Buffer.from('hel'));
    response.readData(Buffer.from('lo'));
    expect(sink.events).toEqual([]);
    response.readEnd();
    expect(sink).toMatchObject({
      events: ['whole 200'],
      reason: 'OK',
      body: 'hello',
      fields: ['content-length', '5'],
    });
    expect(response.over).toBe(true);
  });

  it('is handed on in pieces when the rest comes later', async () => {
    const response = responseTo();
    response.readHead(head(200, 'content-length', '5'), false);
    response.readData(Buffer.from('hel'));
    await new Promise(setImmediate);
    expect(sink).toMatchObject({ events: ['head 200 5'], body: 'hel' });
    response.readData(Buffer.from('lo'));
    response.readEnd();
    expect(sink).toMatchObject({ events: ['head 200 5', 'end'], body: 'hello' });
  });

  it.each([
    ['is large', ['content-length', '16385']],
    ['does not state its length', []],
  ])('is handed on in pieces when it %s', (_, fields) => {
    responseTo().readHead(head(200, ...fields), false);
    expect(sink.events).toHaveLength(1);
  });

  it('keeps its trailers, however small it is', () => {
    const response = responseTo();
    response.readHead(head(200, 'content-length', '0'), false);
    response.trailers = ['x-sum', '0'];
    response.readEnd();
    expect(sink).toMatchObject({ events: ['head 200 0', 'end'], trailers: ['x-sum', '0'] });
  });

  it('is told its length where it ends with its head', () => {
    responseTo().readHead(head(200), true);
    expect(sink.fields).toEqual(['content-length', '0']);
  });

  it('passes as it is where it ends a gRPC call with its head', () => {
    responseTo('POST', true).readHead(head(200, 'grpc-status', '5'), true);
    expect(sink).toMatchObject({ events: ['whole 200'], fields: ['grpc-status', '5'] });
  });

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('to %s with %i is told none', (method, status) => {
    responseTo(method).readHead(head(status), true);
    expect(sink.fields).toEqual([]);
  });

  it('has a pause when its sink has enough', () => {
    const response = responseTo();
    response.readHead(head(200), false);
    sink.wantsMore = false;
    expect(response.readData(Buffer.from('a'))).toBe(false);
  });

  it('hands on nothing more when it is stopped', async () => {
    const response = responseTo();
    response.readHead(head(200, 'content-length', '5'), false);
    response.stop();
    await new Promise(setImmediate);
    expect(sink.events).toEqual([]);
  });

  it.each<[string, (response: StreamResponse) => void]>([
    ['a body in front of its head', response => response.readData(Buffer.from('a'))],
    ['a status below 100', response => response.readHead(head(99), true)],
    ['an interim response that ends it', response => response.readHead(head(103), true)],
    ['an upgrade', response => response.readInterim(head(101))],
    ['a final response as an interim one', response => response.readInterim(head(200))],
    ['a head that is too large', response => response.readHead(head(200, 'a', 'b'.repeat(1_000)), true)],
    [
      'fields that are too many bytes',
      response => response.readHead(head(200, ...Array.from({ length: 60 }, () => 'a')), true),
    ],
  ])('is malformed by %s', (_, read) => {
    expect(() => read(responseTo())).toThrow();
    expect(sink.events).toEqual([]);
  });

  it.each([
    ['shorter', 'abcd'],
    ['longer', 'abcdef'],
  ])('is malformed by a body %s than its length', (_, body) => {
    const response = responseTo();
    response.readHead(head(200, 'content-length', '5'), false);
    expect(() => {
      response.readData(Buffer.from(body));
      response.readEnd();
    }).toThrow();
  });
});
