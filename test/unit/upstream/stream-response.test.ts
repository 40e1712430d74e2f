import { beforeEach, describe, expect, it } from 'vitest';
import { NO_NAMES } from '../../../src/core/index.ts';
import { StreamResponse } from '../../../src/upstream/stream-response.ts';
import { CollectingSink } from '../../support/collecting-sink.ts';

let sink: CollectingSink;

beforeEach(() => {
  sink = new CollectingSink();
});

function responseTo(method = 'GET', isCall = false): StreamResponse {
  return new StreamResponse(method, sink, isCall);
}

const section = (...fields: string[]) => ({
  ...{ fields, flaw: null, neverIndexed: NO_NAMES },
  ...{ pseudo: 0, length: null, priority: null },
});
const head = (status: number, ...fields: string[]) => section(':status', String(status), ...fields);

describe('a response on a stream', () => {
  it('gives back the pieces that it has gathered, once each', () => {
    const given: string[] = [];
    const response = responseTo();
    response.readSection(head(200, 'content-length', '5'), false);
    response.readData(Buffer.from('hel'), () => given.push('hel'));
    response.readData(Buffer.from('lo'), () => given.push('lo'));
    expect(given).toEqual([]);
    response.readEnd();
    expect([sink.body, given]).toEqual(['hello', ['hel', 'lo']]);
  });

  it('is handed on whole when it is small and comes at once', () => {
    const response = responseTo();
    response.readSection(head(200, 'content-length', '5'), false);
    response.readData(Buffer.from('hel'), null);
    response.readData(Buffer.from('lo'), null);
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

  it('names the fields that are never indexed before it is handed on', () => {
    const neverIndexed = new Set(['x-secret']);
    responseTo().readSection({ ...head(204, 'x-secret', 'a'), neverIndexed }, true);
    expect(sink.events).toEqual(['never indexed: x-secret', 'whole 204']);
  });

  it('is handed on in pieces when the rest comes later', async () => {
    const response = responseTo();
    response.readSection(head(200, 'content-length', '5'), false);
    response.readData(Buffer.from('hel'), null);
    await new Promise(setImmediate);
    expect(sink).toMatchObject({ events: ['head 200 5'], body: 'hel' });
    response.readData(Buffer.from('lo'), null);
    response.readEnd();
    expect(sink).toMatchObject({ events: ['head 200 5', 'end'], body: 'hello' });
  });

  it.each([
    ['', false],
    [' with trailers', true],
  ])('gives nothing more to a sink that gives up at the head%s', async (_, hasTrailers) => {
    const response = responseTo();
    sink.head = () => response.stop();
    response.readSection(head(200, 'content-length', '3'), false);
    response.readData(Buffer.from('hel'), null);
    if (hasTrailers) {
      response.readSection(section('x-sum', '0'), true);
      response.readEnd();
    }
    await new Promise(setImmediate);
    expect([sink.pieces, sink.events]).toEqual([[], []]);
  });

  it.each([
    ['is large', ['content-length', '16385']],
    ['does not state its length', []],
  ])('is handed on in pieces when it %s', (_, fields) => {
    responseTo().readSection(head(200, ...fields), false);
    expect(sink.events).toHaveLength(1);
  });

  it('keeps its trailers, however small it is', () => {
    const response = responseTo();
    response.readSection(head(200, 'content-length', '0'), false);
    response.readSection(section('x-sum', '0'), true);
    response.readEnd();
    expect(sink).toMatchObject({ events: ['head 200 0', 'end'], trailers: ['x-sum', '0'] });
  });

  it.each([
    ['nothing', '', ['whole 200']],
    ['a body', 'a', []],
  ])('that says it is empty waits for its end, and is held where %s follows', async (_, body, events) => {
    const response = responseTo();
    response.readSection(head(200, 'content-length', '0'), false);
    await new Promise(setImmediate);
    expect([sink.events, response.inBody]).toEqual([[], false]);
    if (body === '') response.readEnd();
    else expect(() => response.readData(Buffer.from(body), null)).toThrow('an invalid body');
    expect(sink.events).toEqual(events);
  });

  it('is told its length where it ends with its head', () => {
    responseTo().readSection(head(200), true);
    expect(sink.fields).toEqual(['content-length', '0']);
  });

  it('passes as it is where it ends a gRPC call with its head', () => {
    responseTo('POST', true).readSection(head(200, 'grpc-status', '5'), true);
    expect(sink).toMatchObject({ events: ['whole 200'], fields: ['grpc-status', '5'] });
  });

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('to %s with %i is told none', (method, status) => {
    responseTo(method).readSection(head(status), true);
    expect(sink.fields).toEqual([]);
  });

  it('has a pause when its sink has enough', () => {
    const response = responseTo();
    response.readSection(head(200), false);
    sink.wantsMore = false;
    expect(response.readData(Buffer.from('a'), null)).toBe(false);
  });

  it('passes on what belongs to its body when more comes', () => {
    const response = responseTo();
    response.readSection(head(200, 'content-length', '5'), false);
    response.handOn();
    expect(() => response.readData(Buffer.from('hello, you'), null)).toThrow();
    expect(sink.body).toBe('hello');
    expect(() => response.readData(Buffer.from('more'), null)).toThrow();
    expect(sink.body).toBe('hello');
  });

  it('hands on nothing more when it is stopped', async () => {
    const response = responseTo();
    response.readSection(head(200, 'content-length', '5'), false);
    response.stop();
    await new Promise(setImmediate);
    expect(sink.events).toEqual([]);
  });

  it.each<[string, (response: StreamResponse) => void]>([
    ['a body before its head', response => response.readData(Buffer.from('a'), null)],
    ['a status below 100', response => response.readSection(head(99), true)],
    ['an interim response that ends it', response => response.readSection(head(103), true)],
    [
      'an end behind an interim response',
      response => {
        response.readSection(head(103), false);
        response.readEnd();
      },
    ],
    ['an upgrade', response => response.readSection(head(101), false)],
    [
      'a length of an interim response',
      response => response.readSection(head(103, 'content-length', '0'), false),
    ],
    ['a head that is flawed', response => response.readSection({ ...head(200), flaw: 'too large' }, true)],
    [
      'a length that it does not have',
      response => response.readSection(head(200, 'content-length', '1'), true),
    ],
    [
      'a length where there is no body',
      response => response.readSection(head(204, 'content-length', '1'), true),
    ],
    [
      'two lengths',
      response => response.readSection(head(200, 'content-length', '0', 'content-length', '0'), true),
    ],
    ['no status', response => response.readSection(section('a', 'b'), true)],
  ])('is malformed by %s', (_, read) => {
    expect(() => read(responseTo())).toThrow();
    expect(sink.events.filter(event => event !== 'info 103')).toEqual([]);
  });

  it.each([
    ['shorter', 'abcd'],
    ['longer', 'abcdef'],
  ])('is malformed by a body %s than its length', (_, body) => {
    const response = responseTo();
    response.readSection(head(200, 'content-length', '5'), false);
    expect(() => {
      response.readData(Buffer.from(body), null);
      response.readEnd();
    }).toThrow();
  });

  it.each([
    ['do not end it', section('a', 'b'), false],
    ['are another head', head(200), true],
    ['state a length', section('content-length', '0'), true],
    ['are flawed', { ...section(), flaw: 'too large' }, true],
  ])('is malformed by trailers that %s', (_, trailers, ends) => {
    const response = responseTo();
    response.readSection(head(200), false);
    expect(() => response.readSection(trailers, ends)).toThrow();
  });

  it.each([204, 304])('of %i has no trailers, whatever comes', status => {
    const response = responseTo();
    response.readSection(head(status), false);
    response.readSection(section('a', 'b'), true);
    response.readEnd();
    expect(sink.events).toEqual([`whole ${status}`]);
  });

  it('of 204 does not state a length of 0, and keeps a field whose value is content-length', () => {
    responseTo().readSection(
      head(204, 'a', 'content-length', 'b', 'c', 'content-length', '0', 'd', 'e'),
      true,
    );
    expect(sink.fields).toEqual(['a', 'content-length', 'b', 'c', 'd', 'e']);
  });
});
