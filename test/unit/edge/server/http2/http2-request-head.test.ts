import { describe, expect, test } from 'vitest';
import { NO_NAMES } from '../../../../../src/core/index.ts';
import { HeadReader } from '../../../../../src/edge/server/http2/http2-request-head.ts';
import { type HeaderSection, TOO_LARGE } from '../../../../../src/wire/http2/index.ts';

const NO_RANDOM = (count: number) => Buffer.alloc(count);

/** A section as the codec reads it, names and values in turn. */
const sectionOf = (fields: string[], flaw: string | null = null): HeaderSection => ({
  ...{ fields, flaw, pseudo: 0, length: null, priority: null, neverIndexed: NO_NAMES },
});
/** The pseudo-fields in the order of most clients. */
const pseudo = (path = '/a', method = 'GET') => [
  ...[':method', method, ':scheme', 'https', ':authority', 'a.test', ':path', path],
];
const PSEUDO = pseudo();
const read = (raw: string[], bodiless = true, maxBytes = 16_384) =>
  new HeadReader(NO_RANDOM).read(sectionOf(raw), bodiless, maxBytes);

describe('the head of a request', () => {
  test('has its authority as Host in front of its fields, and its path as target', () => {
    expect(read([...PSEUDO, 'x-a', 'b'])).toMatchObject({
      ...{ method: 'GET', target: '/a', fields: ['host', 'a.test', 'x-a', 'b'], fault: null },
    });
  });

  test('has no Host where neither names one, and one where both name the same in different letters', () => {
    const without = PSEUDO.filter((_, i) => i !== 4 && i !== 5);
    expect(read([...without, 'x', 'y']).fields).toEqual(['x', 'y']);
    expect(read([...without, 'host', 'b.test']).fields).toEqual(['host', 'b.test']);
    expect(read([...PSEUDO, 'host', 'A.test'])).toMatchObject({ fields: ['host', 'a.test'], fault: null });
  });

  test('is at fault where Host names another place than the authority', () => {
    for (const host of ['b.test', 'a.test:80', 'a.test.'])
      expect(read([...PSEUDO, 'host', host]).fault).toMatchObject({ status: 400 });
  });

  test('has the crumbs of its cookie joined where the first one stood', () => {
    const { fields } = read([...PSEUDO, 'cookie', 'a=1', 'x', 'y', 'cookie', 'b=2', 'cookie', 'c=3']);
    expect(fields).toEqual(['host', 'a.test', 'cookie', 'a=1; b=2; c=3', 'x', 'y']);
  });

  test('has no blank at the end of its cookie for a crumb that is empty', () => {
    expect(read([...PSEUDO, 'cookie', 'a=1', 'cookie', '']).fields).toEqual([
      'host',
      'a.test',
      'cookie',
      'a=1',
    ]);
  });

  test.each([
    ['no body where it ends the stream', true, [], 0],
    ['a body of unknown length where it does not, and says none', false, [], 'chunked'],
    ['a body of the length that it says', false, ['content-length', '5'], 5],
    ['no body where it says so', false, ['content-length', '0'], 0],
  ])('announces %s', (_, bodiless, fields, bodyLength) => {
    expect(read([...PSEUDO, ...fields], bodiless).framing).toMatchObject({ bodyLength });
  });

  test('keeps what is ambiguous about its length', () => {
    const { framing } = read([...PSEUDO, 'content-length', '1', 'content-length', '2'], false);
    expect(framing.bodyLength).toMatchObject({ rejected: expect.any(String) });
  });

  test('has a body of unknown length where only a value reads content-length', () => {
    const { framing } = read([...PSEUDO, 'access-control-request-headers', 'content-length'], false);
    expect(framing.bodyLength).toBe('chunked');
  });

  test('is as large as HTTP/1.1 would write it, and refused past its cap', () => {
    const text = 'GET /a HTTP/1.1\r\nhost: a.test\r\nx: y\r\n\r\n';
    const raw = [...PSEUDO, 'x', 'y'];
    expect(read(raw, true, text.length)).toMatchObject({ bytes: text.length, fault: null });
    expect(read(raw, true, text.length - 1).fault).toMatchObject({ status: 431 });
    expect(new HeadReader(NO_RANDOM).read(sectionOf(raw, TOO_LARGE), true, 16_384).fault).toMatchObject({
      status: 431,
    });
  });

  test.each([
    ['a method that is no token', 'G ET', '/a'],
    ['a path without a slash and an unknown method', 'GRAB', 'a'],
    ['a path without a slash', 'GET', 'a'],
    ['an absolute path', 'GET', 'http://a.test/'],
    ['an asterisk of a method that has none', 'GET', '*'],
  ])('is at fault with %s', (_, method, path) => {
    expect(read(pseudo(path, method)).fault).toMatchObject({ status: 400 });
  });

  test('is at fault with a scheme other than http and https, and with whatever the codec found', () => {
    expect(read(PSEUDO.with(3, 'ftp')).fault).toMatchObject({ status: 400 });
    const { fault } = new HeadReader(NO_RANDOM).read(
      sectionOf(PSEUDO, 'a field that HTTP/2 forbids'),
      true,
      16_384,
    );
    expect(fault).toMatchObject({
      status: 400,
      message: expect.stringContaining('a field that HTTP/2 forbids'),
    });
  });

  test('is at fault where it ends the request and says that a body follows', () => {
    const { framing } = read([...PSEUDO, 'content-length', '5']);
    expect(framing.bodyLength).toMatchObject({ rejected: expect.any(String) });
  });

  test('becomes the GET of a WebSocket handshake with a key of its own', () => {
    const extended = [...PSEUDO.with(1, 'CONNECT'), ':protocol', 'websocket'];
    const fields = ['sec-websocket-key', 'mine', 'sec-websocket-version', '13'];
    const head = read([...extended, ...fields], false);
    expect(head).toMatchObject({ method: 'GET', target: '/a', fault: null });
    expect(head.framing).toMatchObject({ upgrade: 'websocket', bodyLength: 0 });
    const key = Buffer.alloc(16).toString('base64');
    expect(head.fields).toEqual(['host', 'a.test', 'sec-websocket-version', '13', 'sec-websocket-key', key]);
  });

  test('is at fault where it asks for a WebSocket and ends its stream, since nothing could close that', () => {
    const extended = [...PSEUDO.with(1, 'CONNECT'), ':protocol', 'websocket'];
    expect(read([...extended, 'sec-websocket-version', '13']).fault).toMatchObject({ status: 400 });
  });

  test('asks for no WebSocket where its protocol is another one', () => {
    const { method, framing } = read([...PSEUDO.with(1, 'CONNECT'), ':protocol', 'connect-udp'], false);
    expect([method, framing.upgrade]).toEqual(['CONNECT', 'none']);
  });

  test('keeps no method that Node does not know', () => {
    for (const method of ['GRAB', 'get', 'X'.repeat(1_000)])
      expect(read(pseudo('/a', method))).toMatchObject({
        ...{ method: '', target: '/a', fault: null },
      });
  });

  test('names the authority of a CONNECT as its target', () => {
    expect(read([':method', 'CONNECT', ':authority', 'a.test:443'])).toMatchObject({
      ...{ target: 'a.test:443', fault: null },
    });
  });
});

describe('fields that a connection repeats', () => {
  const heads = new HeadReader(NO_RANDOM);
  const next = (path: string, ...fields: string[]) =>
    heads.read(sectionOf([...pseudo(path), ...fields]), true, 16_384);

  test('are the same array, whatever the path is', () => {
    const first = next('/a', 'x', 'y', 'z', '1');
    expect(next('/b', 'x', 'y', 'z', '1').fields).toBe(first.fields);
    expect(next('/b', 'x', 'y', 'z', '2').fields).not.toBe(first.fields);
    expect(next('/b', 'x', 'y').fields).toEqual(['host', 'a.test', 'x', 'y']);
  });

  test('are another array for another authority', () => {
    const { fields } = next('/a', 'x', 'y');
    const raw = [...PSEUDO.with(5, 'b.test'), 'x', 'y'];
    expect(heads.read(sectionOf(raw), true, 16_384).fields).not.toBe(fields);
  });

  test('are recognized beside more or fewer pseudo-fields', () => {
    const { fields } = next('/a', 'x', 'y');
    const raw = [':method', 'CONNECT', ':authority', 'a.test', 'x', 'y'];
    expect(heads.read(sectionOf(raw), true, 16_384).fields).toBe(fields);
  });

  test('are read once where the codec knows the whole section again', () => {
    const section = sectionOf([...PSEUDO, 'x', 'y']);
    const first = heads.read(section, true, 16_384);
    expect(heads.read(section, true, 16_384)).toBe(first);
    expect(heads.read(section, false, 16_384).framing.bodyLength).toBe('chunked');
    expect(heads.read(section, false, 10).fault).toMatchObject({ status: 431 });
  });

  test('are not kept where they are long', () => {
    const long = 'x'.repeat(5_000);
    const { fields } = next('/a', 'x', long);
    expect(heads.remembersFields).toBe(false);
    expect(next('/a', 'x', long).fields).not.toBe(fields);
  });
});
