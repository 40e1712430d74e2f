import { METHODS } from 'node:http';
import { describe, expect, test } from 'vitest';
import { MalformedMessage } from '../../../../src/wire/http1/message.ts';
import {
  type IncomingHead,
  OtherVersion,
  readIncomingHead,
  UnknownMethod,
  withoutEmptyLines,
} from '../../../../src/wire/http1/request-reader.ts';

const HEAD = 'POST /a?b=c HTTP/1.1\r\nHost: a.test\r\nX-Long-Name: \t some value \t\r\nEmpty:\r\n\r\n';
const CHARACTERS = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
const isText = (character: string): boolean =>
  character === '\t' || (character >= ' ' && character !== '\x7f');

function read(text: string, end = text.length): IncomingHead | null {
  return readIncomingHead(Buffer.from(text, 'latin1'), end);
}

/** What is thrown for the text, by the name of its class; else what was read. */
function verdictOf(text: string): string | IncomingHead | null {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof OtherVersion) return 'other version';
    if (error instanceof UnknownMethod) return 'unknown method';
    if (error instanceof MalformedMessage) return 'malformed';
    throw error;
  }
}

function faultOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

/** The first verdict on the text as its bytes come one by one. */
function firstVerdictOf(text: string): string | IncomingHead | null | undefined {
  return Array.from(text, (_, i) => verdictOf(text.slice(0, i + 1))).find(found => found !== null);
}

describe('a request line', () => {
  test.each([
    ['GET / HTTP/1.1', 'GET', '/', 1],
    ['GET / HTTP/1.0', 'GET', '/', 0],
    ['M-SEARCH /a HTTP/1.1', 'M-SEARCH', '/a', 1],
    ['CONNECT a.test:443 HTTP/1.1', 'CONNECT', 'a.test:443', 1],
    ['OPTIONS * HTTP/1.1', 'OPTIONS', '*', 1],
    ['GET http://a.test/ HTTP/1.1', 'GET', 'http://a.test/', 1],
    // The parser of targets decides what a target may hold, and rejects others with a reason.
    ['GET /a\t\xff"\\# HTTP/1.1', 'GET', '/a\t\xff"\\#', 1],
    ['GET /HTTP/1.1 HTTP/1.0', 'GET', '/HTTP/1.1', 0],
  ])('has a method, a target and a version (RFC 9112, 3): %j', (line, method, target, httpMinor) => {
    const text = `${line}\r\n\r\n`;
    expect(read(text)).toMatchObject({ method, target, httpMinor, fields: [], bytes: text.length });
  });

  test('has a method that Node knows, in its letter case (RFC 9110, 9.1)', () => {
    for (const method of METHODS) {
      expect(read(`${method} / HTTP/1.1\r\n\r\n`)?.method).toBe(method);
      expect(verdictOf(`${method.toLowerCase()} / HTTP/1.1\r\n\r\n`)).toBe('unknown method');
      expect(verdictOf(`${method}X / HTTP/1.1\r\n\r\n`)).toBe('unknown method');
      expect(verdictOf(`X${method} / HTTP/1.1\r\n\r\n`)).toBe('unknown method');
    }
  });

  test.each([
    ['no method', ' / HTTP/1.1'],
    ['a blank before it', ' GET / HTTP/1.1'],
    ['no target', 'GET HTTP/1.1'],
    ['no target and a blank', 'GET HTTP/1.1 '],
    ['no version, as in HTTP/0.9', 'GET /'],
    ['no version and a blank', 'GET / '],
    ['an empty target', 'GET  HTTP/1.1'],
    ['two blanks before the target (RFC 9112, 3)', 'GET  / HTTP/1.1'],
    ['two blanks before the version', 'GET /  HTTP/1.1'],
    ['a tab before the target', 'GET\t/ HTTP/1.1'],
    ['a tab before the version', 'GET /\tHTTP/1.1'],
    ['a blank in the target', 'GET /a b HTTP/1.1'],
    ['a blank behind the version', 'GET / HTTP/1.1 '],
    ['a version in small letters (RFC 9112, 2.3)', 'GET / http/1.1'],
    ['another protocol', 'GET / RTSP/1.0'],
    ['another protocol whose name begins alike', 'GET / HTTPS/1.1'],
    ['a version of one digit', 'GET / HTTP/1'],
    ['another version of one digit', 'GET / HTTP/2'],
    ['a version without its second digit', 'GET / HTTP/1.'],
    ['a version without its first digit', 'GET / HTTP/.1'],
    ['a version with a comma', 'GET / HTTP/1,1'],
    ['a version of two digits', 'GET / HTTP/1.11'],
    ['a major version of two digits', 'GET / HTTP/01.1'],
    ['both of two digits', 'GET / HTTP/01.01'],
    ['a version of three numbers', 'GET / HTTP/1.1.1'],
    ['another version and a blank', 'GET / HTTP/2.0 '],
    ['a sign before the version', 'GET / HTTP/+1.1'],
    ['a letter for a version', 'GET / HTTP/x'],
    ['another protocol with another version', 'GET / FTP/2.0'],
  ])('is refused with %s', (_, line) => {
    const text = `${line}\r\nHost: a\r\n\r\n`;
    expect(verdictOf(text)).toBe('malformed');
    expect(firstVerdictOf(text), 'byte by byte').toBe('malformed');
  });

  test('that is no request says what it is', () => {
    const faults: readonly [line: string, fault: string][] = [
      [
        'PROXY TCP4 192.0.2.7 198.51.100.1 56324 443',
        'a PROXY header on a listener without "proxy_protocol"',
      ],
      ['PROXY UNKNOWN', 'a malformed version'],
      ['TRACE TCP4 a', 'a malformed version'],
      ['GET  / HTTP/1.1', 'a request line without a target'],
    ];
    for (const [line, fault] of faults)
      expect(faultOf(() => read(`${line}\r\n\r\n`))).toMatchObject({ message: fault });
  });

  test.each([
    'GET / HTTP/2.0',
    'GET / HTTP/2.1',
    'GET / HTTP/0.1',
    'GET / HTTP/1.2',
    'GET / HTTP/0.9',
    'GET / HTTP/9.9',
    'PRI * HTTP/2.0',
    'FETCH / HTTP/3.0',
  ])('of another version differs from one with a malformed version (RFC 9110, 15.6.6): %s', line => {
    expect(verdictOf(`${line}\r\n`)).toBe('other version');
    // RFC 9113, 3.4: how a client of HTTP/2 begins.
    expect(faultOf(() => read(`${line}\r\n`))).toHaveProperty('isPreface', line === 'PRI * HTTP/2.0');
    expect(firstVerdictOf(`${line}\r\n`), 'byte by byte').toBe('other version');
  });
});

describe('of all bytes', () => {
  test('only a space ends a method', () => {
    for (const character of CHARACTERS) {
      const verdict = verdictOf(`GET${character}/ HTTP/1.1\r\n\r\n`);
      if (character === ' ') expect(verdict).toMatchObject({ method: 'GET', target: '/' });
      else expect(verdict, JSON.stringify(character)).toBe('malformed');
    }
  });

  test('a target may contain visible characters, tabs and bytes above 0x7f', () => {
    for (const character of CHARACTERS) {
      const verdict = verdictOf(`GET /a${character}b HTTP/1.1\r\n\r\n`);
      if (isText(character) && character !== ' ')
        expect(verdict).toMatchObject({ target: `/a${character}b` });
      else expect(verdict, JSON.stringify(character)).toBe('malformed');
    }
  });

  test('minor versions 0 and 1 are accepted, other digits are other versions', () => {
    for (const character of CHARACTERS) {
      const verdict = verdictOf(`GET / HTTP/1.${character}\r\n\r\n`);
      if (character === '0' || character === '1')
        expect(verdict).toMatchObject({ httpMinor: Number(character) });
      else
        expect(verdict, JSON.stringify(character)).toBe(/\d/.test(character) ? 'other version' : 'malformed');
    }
  });

  test('only CR and LF may follow a version (RFC 9112, 2.2)', () => {
    for (const character of CHARACTERS) {
      const behind = verdictOf(`GET / HTTP/1.1${character}\nA: b\r\n\r\n`);
      if (character === '\r') expect(behind).toMatchObject({ fields: ['A', 'b'] });
      else expect(behind, JSON.stringify(character)).toBe('malformed');
      const between = verdictOf(`GET / HTTP/1.1\r${character}A: b\r\n\r\n`);
      if (character === '\n') expect(between).toMatchObject({ fields: ['A', 'b'] });
      else expect(between, JSON.stringify(character)).toBe('malformed');
    }
  });

  test('a name consists of token characters (RFC 9110, 5.6.2)', () => {
    for (const character of CHARACTERS) {
      const verdict = verdictOf(`GET / HTTP/1.1\r\nX${character}Y: v\r\n\r\n`);
      if (/^[!#$%&'*+\-.^_`|~0-9A-Za-z]$/.test(character))
        expect(verdict).toMatchObject({ fields: [`X${character}Y`, 'v'] });
      else if (character === ':') expect(verdict).toMatchObject({ fields: ['X', 'Y: v'] });
      else expect(verdict, JSON.stringify(character)).toBe('malformed');
    }
  });

  test('a value may contain all but control bytes (RFC 9110, 5.5)', () => {
    for (const character of CHARACTERS) {
      const verdict = verdictOf(`GET / HTTP/1.1\r\nX: a${character}b\r\n\r\n`);
      if (isText(character)) expect(verdict).toMatchObject({ fields: ['X', `a${character}b`] });
      else expect(verdict, JSON.stringify(character)).toBe('malformed');
    }
  });

  test('only spaces and tabs around a value are dropped (RFC 9112, 5.1)', () => {
    for (const character of CHARACTERS.filter(isText)) {
      const value = character === ' ' || character === '\t' ? 'v' : `${character}v${character}`;
      expect(read(`GET / HTTP/1.1\r\nX:${character}v${character}\r\n\r\n`)?.fields).toEqual(['X', value]);
    }
  });
});

describe('a field line', () => {
  test.each([
    ['a blank before the colon (RFC 9112, 5.1)', 'A : b'],
    ['a tab before the colon', 'A\t: b'],
    ['no name', ': b'],
    ['no colon', 'A'],
    ['a continuation (RFC 9112, 5.2)', 'A: b\r\n c'],
    ['a continuation by a tab', 'A: b\r\n\tc'],
    ['a blank before the first name (RFC 9112, 2.2)', ' A: b'],
    ['a bare LF (RFC 9112, 2.2)', 'A: b\nB: c'],
    ['a bare CR', 'A: b\rB: c'],
    ['two CR', 'A: b\r\r\nB: c'],
  ])('is refused with %s', (_, lines) => {
    expect(verdictOf(`GET / HTTP/1.1\r\n${lines}\r\n\r\n`)).toBe('malformed');
  });

  test('may be one of any number: the gateway applies their cap', () => {
    expect(read(`GET / HTTP/1.1\r\n${'A: b\r\n'.repeat(5_000)}\r\n`)?.fields).toHaveLength(10_000);
  });
});

describe('the end of a head', () => {
  test('is found after its last byte and not before, whatever follows', () => {
    for (let end = 0; end < HEAD.length; end++) {
      expect(read(HEAD.slice(0, end)), `${end}`).toBeNull();
      expect(read(HEAD, end), `${end} of more`).toBeNull();
    }
    const fields = ['Host', 'a.test', 'X-Long-Name', 'some value', 'Empty', ''];
    const expected = { method: 'POST', target: '/a?b=c', httpMinor: 1, fields, bytes: HEAD.length };
    expect(read(HEAD)).toMatchObject(expected);
    expect(read(`${HEAD}\0\r\n\r\nGET`)).toMatchObject(expected);
    expect(read(HEAD + 'x'.repeat(10_000))).toMatchObject(expected);
  });

  test('is not searched for beyond the maximum head size', () => {
    expect(read(`${HEAD}more`, HEAD.length)?.bytes).toBe(HEAD.length);
    expect(read(`${HEAD}more`, HEAD.length - 1)).toBeNull();
    for (const byte of ['\0', 'x', ' ', ':', '\r', '\n'])
      for (let end = 0; end < HEAD.length; end++)
        expect(read(HEAD.slice(0, end) + byte.repeat(100), end), `${end}, ${byte}`).toBeNull();
  });

  test('is found after a long head as after a short one', () => {
    for (const length of [4_080, 4_090, 4_096, 4_100, 20_000]) {
      const text = `GET / HTTP/1.1\r\nX: ${'x'.repeat(length)}\r\n\r\n`;
      expect(read(`${text}\r\n\r\nmore`)).toMatchObject({
        bytes: text.length,
        fields: ['X', 'x'.repeat(length)],
      });
      expect(read(text.slice(0, -1))).toBeNull();
      expect(read(`${text}more`, text.length - 1)).toBeNull();
    }
  });

  test.each([
    ['a byte of another protocol', '\x16\x03\x01'],
    ['a control byte in the method', 'G\0'],
    ['a control byte in the target', 'GET /\0'],
    ['an empty line of two CR', '\r\r'],
    ['an empty line that is a bare LF', '\n'],
    ['a bare CR before a request', '\rG'],
    ['no version', 'GET /\r'],
    ['a wrong letter in the version', 'GET / HTTQ'],
    ['a version of two digits', 'GET / HTTP/30'],
    ['more behind another version', 'GET / HTTP/3.0 '],
    ['a blank behind the version', 'GET / HTTP/1.1 '],
    ['a bare LF', 'GET / HTTP/1.1\n'],
    ['a control byte in a value', 'GET / HTTP/1.1\r\nA: \0'],
    ['a blank in a name', 'GET / HTTP/1.1\r\nA '],
    ['a bare CR where the head would end', 'GET / HTTP/1.1\r\n\rX'],
  ])('is rejected at once if no further byte could make it a request: %s', (_, text) => {
    expect(() => read(text)).toThrow(MalformedMessage);
  });

  test.each(['FETCH', 'PRI', 'get', 'ABCDEFGHIJKLMNOPQRST', 'X'.repeat(10_000)])(
    'is refused with its fields, so that it can be counted, once it is whole: %.20s',
    method => {
      const text = HEAD.replace('POST', method);
      for (const end of [1, method.length, text.indexOf('\n') + 1, text.length - 1])
        expect(read(text, end)).toBeNull();
      const { fields, framing, target } = read(HEAD) as IncomingHead;
      for (const before of [null, read(HEAD)]) {
        const error = faultOf(() => readIncomingHead(Buffer.from(`${text}more`), text.length + 4, before));
        expect(error).toBeInstanceOf(UnknownMethod);
        expect(error).toMatchObject({ head: { method: '', target, fields, framing, bytes: text.length } });
      }
      expect(verdictOf(text.replace('Empty', 'Em pty'))).toBe('malformed');
    },
  );
});

test('only empty lines before a request are skipped (RFC 9112, 2.2)', () => {
  const behind = (text: string): string => withoutEmptyLines(Buffer.from(text, 'latin1')).toString('latin1');
  expect(behind('\r\n\r\nGET / ')).toBe('GET / ');
  expect(behind('\r\n\nGET')).toBe('\nGET');
  expect(behind('\r\n\r\r\nGET')).toBe('\r\r\nGET');
  expect(behind('\r\n\r')).toBe('\r');
  expect(read('\r')).toBeNull();
  expect(behind('GET\r\n')).toBe('GET\r\n');
  expect(behind('\r\n')).toBe('');
  for (const character of CHARACTERS) {
    expect(behind(`${character}\r\n`)).toBe(`${character}\r\n`);
    if (character !== '\r') expect(behind(`${character}\nGET`)).toBe(`${character}\nGET`);
  }
});

describe('fields that the last request of the connection had, too', () => {
  const before = read(HEAD);
  const readBehind = (text: string, end = text.length): IncomingHead | null =>
    readIncomingHead(Buffer.from(text, 'latin1'), end, before);

  test('are the same array, whatever the request line is and whatever follows', () => {
    for (const line of ['POST /a?b=c HTTP/1.1', 'GET / HTTP/1.0', `PUT /${'x'.repeat(5_000)} HTTP/1.1`]) {
      for (const behind of ['', 'body', 'GET / HTTP/1.1\r\n\r\n']) {
        const text = HEAD.replace(/^[^\r]*/, line) + behind;
        const start = readBehind(text);
        expect(start?.fields).toBe(before?.fields);
        expect(start).toMatchObject({ ...read(text), bytes: text.length - behind.length });
      }
    }
  });

  test('are another array if one byte differs', () => {
    for (let at = HEAD.indexOf('\n') + 1; at < HEAD.length; at++) {
      for (const byte of ['x', ' ', '\r', '\n', '\0', ':']) {
        const text = HEAD.slice(0, at) + byte + HEAD.slice(at + 1);
        if (text === HEAD) continue;
        const verdict = (() => {
          try {
            return readBehind(text);
          } catch (error) {
            return error instanceof MalformedMessage ? 'malformed' : error;
          }
        })();
        const expected = verdictOf(text);
        if (typeof expected === 'string' || expected === null) expect(verdict).toEqual(expected);
        else expect(verdict).toMatchObject({ ...expected });
      }
    }
  });

  test('are another array if there are more, and null until they are complete', () => {
    const more = HEAD.replace(/\r\n$/, 'More: y\r\n\r\n');
    expect(readBehind(more)?.fields).toEqual([...(before?.fields ?? []), 'More', 'y']);
    expect(readBehind('GET / HTTP/1.1\r\n\r\n')?.fields).toEqual([]);
    for (let end = 0; end < HEAD.length; end++) expect(readBehind(HEAD, end), `${end}`).toBeNull();
  });
});

describe('what is remembered of a request', () => {
  const behindHead = (fieldBytes: number, bodyBytes: number) => {
    const text = `POST / HTTP/1.1\r\nX: ${'x'.repeat(fieldBytes - 7)}\r\n\r\n${'y'.repeat(bodyBytes)}`;
    return readIncomingHead(Buffer.from(text, 'latin1'), text.length)?.section;
  };

  test('keeps nothing else alive that came with it', () => {
    for (const bodyBytes of [0, 60_000]) {
      const section = behindHead(1_000, bodyBytes);
      expect(section).toHaveLength(1_000);
      expect(section?.buffer.byteLength).toBeLessThanOrEqual(4_096);
    }
  });

  test('is 4 KiB of fields at most', () => {
    expect(behindHead(4_096, 0)).toHaveLength(4_096);
    expect(behindHead(4_097, 0)).toBeNull();
  });
});
