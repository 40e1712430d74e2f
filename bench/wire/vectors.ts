/** Bytes that a client sends, and how to see that a gateway let the harm in them through. */
export interface Vector {
  /** What is wrong, or unusual, in a few words. */
  readonly name: string;
  /** The rule that it breaks, or that allows it. */
  readonly source: string;
  readonly bytes: string;
  /** Found in what reached the service if the harm did; `null` for a valid request, which has to reach it. */
  readonly harm: RegExp | null;
  /** What a valid request must look like when it arrives. Default: any request. */
  readonly arrives?: RegExp;
  /** The most requests that may reach the service. Default 1. */
  readonly most?: number;
}

export interface VectorGroup {
  readonly title: string;
  readonly vectors: readonly Vector[];
}

const HOST = 'Host: a.test\r\n';
const ANY = /./s;
/** A request that only a reader who loses count of the bytes sees. */
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: a.test\r\n\r\n';
const SEES_HIDDEN = /(^|\n)GET \/hidden /;

function get(target: string, fields = HOST, version = 'HTTP/1.1'): string {
  return `GET ${target} ${version}\r\n${fields}\r\n`;
}

function post(fields: string, body: string): string {
  return `POST /a HTTP/1.1\r\n${HOST}${fields}\r\n${body}`;
}

const chunked = (body: string, fields = '') => post(`Transfer-Encoding: chunked\r\n${fields}`, body);

function harmful(source: string, rows: readonly (readonly [name: string, bytes: string, harm?: RegExp])[]) {
  return rows.map(([name, bytes, harm = ANY]): Vector => ({ name, source, bytes, harm }));
}

function valid(
  rows: readonly (readonly [name: string, source: string, bytes: string, arrives?: RegExp])[],
): Vector[] {
  return rows.map(([name, source, bytes, arrives = ANY]) => ({ name, source, bytes, harm: null, arrives }));
}

export const GROUPS: readonly VectorGroup[] = [
  {
    title: 'The request line',
    vectors: harmful('RFC 9112, 3', [
      ['two spaces before the target', `GET  /a HTTP/1.1\r\n${HOST}\r\n`, /GET {2}/],
      ['a tab for a space', `GET\t/a HTTP/1.1\r\n${HOST}\r\n`, /GET\t/],
      ['a space in the target', get('/a b'), /\/a b/],
      ['a space in front', ` ${get('/a')}`, /^ GET/],
      ['no target', `GET HTTP/1.1\r\n${HOST}\r\n`],
      ['no version', 'GET /a\r\n\r\n'],
      ['HTTP/1.1 in lower case', get('/a', HOST, 'http/1.1'), /http\/1\.1/],
      ['version HTTP/1.1.1', get('/a', HOST, 'HTTP/1.1.1'), /HTTP\/1\.1\.1/],
      ['version HTTP/2.0', get('/a', HOST, 'HTTP/2.0'), /HTTP\/2/],
      ['version HTTP/0.9', get('/a', HOST, 'HTTP/0.9'), /HTTP\/0/],
      ['a NUL in the method', get('/a').replace('GET', 'GE\0T'), /\0/],
      ['a method that is not a token', get('/a').replace('GET', 'G(T'), /G\(T/],
      ['a NUL in the target', get('/a\0b'), /\0/],
      ['a control character in the target', get('/a\x01b'), /\x01/],
      ['a byte above 127 in the target', get('/a\xffb'), /\xff/],
      ['a bare CR in the target', get('/a\rb'), /\/a\rb/],
      ['a fragment', get('/a#b'), /#/],
      ['a percent sign without two digits', get('/a%zz'), /%zz/],
      ['CONNECT to another host', `CONNECT b.test:25 HTTP/1.1\r\nHost: b.test:25\r\n\r\n`, /CONNECT/],
      ['the form of CONNECT with GET', get('b.test:80'), /GET b\.test:80/],
      ['an asterisk with GET', get('*'), /GET \*/],
      ['another host in the target than in Host', get('http://b.test/a'), /a\.test/],
      ['a user in the target', get('http://u:p@a.test/a'), /u:p@/],
    ]),
  },
  {
    title: 'Paths that services read in several ways',
    vectors: harmful('RFC 3986, 6.2.2', [
      ['a dot segment', get('/a/../admin'), /\/a\/\.\./],
      ['an escaped dot segment', get('/a/%2e%2e/admin'), /%2e%2e/i],
      ['a dot segment with a parameter', get('/a/..;/admin'), /\.\.;/],
      ['an escaped slash', get('/a/..%2fadmin'), /\.\.%2f/i],
      ['a backslash', get('/a\\..\\admin'), /\\/],
      ['an escaped NUL', get('/a%00.png'), /%00/],
      ['a slash in overlong UTF-8', get('/a/..%c0%afadmin'), /%c0%af/i],
      ['an escaped line break', get('/a%0d%0aX:y'), /%0d%0a/i],
    ]),
  },
  {
    title: 'Host',
    vectors: harmful('RFC 9112, 3.2', [
      ['no Host', get('/a', ''), ANY],
      ['two Hosts', get('/a', `${HOST}Host: b.test\r\n`)],
      ['two hosts in one field', get('/a', 'Host: a.test, b.test\r\n')],
      ['a path in Host', get('/a', 'Host: a.test/x\r\n'), /Host: a\.test\/x/i],
      ['a user in Host', get('/a', 'Host: u@a.test\r\n'), /Host: u@/i],
      ['a port that is not a number', get('/a', 'Host: a.test:x\r\n'), /Host: a\.test:x/i],
      ['a space in Host', get('/a', 'Host: a.test b\r\n'), /Host: a\.test b/i],
    ]),
  },
  {
    title: 'Fields',
    vectors: harmful('RFC 9112, 5', [
      ['a space before the colon', get('/a', `${HOST}X : y\r\n`), /X :/i],
      ['a folded line', get('/a', `${HOST}X: y\r\n z\r\n`), /\r\n z/],
      ['a first field that begins with a space', get('/a', ` X: y\r\n${HOST}`), /\r\n X/],
      ['a field without a name', get('/a', `${HOST}: y\r\n`), /\r\n: y/],
      ['a line without a colon', get('/a', `${HOST}X\r\n`), /\r\nX\r\n/i],
      ['a name that is not a token', get('/a', `${HOST}X(y): z\r\n`), /X\(y\)/i],
      ['a NUL in a value', get('/a', `${HOST}X: y\0z\r\n`), /\0/],
      ['a bare CR in a value', get('/a', `${HOST}X: y\rZ: w\r\n`), /y\rZ/],
      ['a control character in a value', get('/a', `${HOST}X: y\x01z\r\n`), /\x01/],
      ['lines that end in LF alone', `GET /a HTTP/1.1\nHost: a.test\n\n`, /[^\r]\n/],
      [
        'an underscore for a hyphen in a guarded name',
        get('/a', `${HOST}X_Forwarded_For: 1.2.3.4\r\n`),
        /X_Forwarded_For/i,
      ],
      ['an address that the client claims', get('/a', `${HOST}X-Real-IP: 1.2.3.4\r\n`), /1\.2\.3\.4/],
      ['Proxy, which CGI reads as a setting', get('/a', `${HOST}Proxy: b.test\r\n`), /Proxy: b\.test/i],
      [
        'Host named in Connection',
        get('/a', `${HOST}Connection: Host\r\n`),
        /\nConnection: *Host|^(?![\s\S]*\nHost:)/i,
      ],
      [
        'an upgrade to h2c',
        get(
          '/a',
          `${HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n`,
        ),
        /Upgrade: h2c/i,
      ],
    ]),
  },
  {
    title: 'Where a body ends',
    vectors: harmful('RFC 9112, 6', [
      [
        'Content-Length and Transfer-Encoding',
        post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${HIDDEN}`),
        SEES_HIDDEN,
      ],
      [
        'both, the other way round',
        post(`Transfer-Encoding: chunked\r\nContent-Length: ${5 + HIDDEN.length}\r\n`, `0\r\n\r\n${HIDDEN}`),
        SEES_HIDDEN,
      ],
      ['two different lengths', post('Content-Length: 0\r\nContent-Length: 5\r\n', 'hello')],
      ['a list of different lengths', post('Content-Length: 0, 5\r\n', 'hello')],
      ['a length with a sign', post('Content-Length: +5\r\n', 'hello'), /\+5/],
      ['a negative length', post('Content-Length: -1\r\n', ''), ANY],
      ['a length in hexadecimal', post('Content-Length: 0x5\r\n', 'hello'), ANY],
      ['a length with a space inside', post('Content-Length: 5 0\r\n', 'hello'), ANY],
      ['an empty length', post('Content-Length: \r\n', ''), /Content-Length: ?\r\n/i],
      ['a length above 2^64', post('Content-Length: 18446744073709551621\r\n', 'hello')],
      ['Content_Length', post('Content_Length: 5\r\n', ''), /Content_Length/i],
      ['a coding that is not chunked', post('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${HIDDEN}`)],
      ['a vertical tab before chunked', post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n'), /\x0b/],
      ['chunked twice', post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'), /chunked, ?chunked/i],
      [
        'chunked before another coding',
        post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'),
        /identity/,
      ],
      [
        'an empty coding',
        post('Transfer-Encoding: \r\nContent-Length: 5\r\n', 'hello'),
        /Transfer-Encoding: ?\r\n/i,
      ],
      [
        'a space before the colon',
        post('Transfer-Encoding : chunked\r\n', `0\r\n\r\n`),
        /Transfer-Encoding :/i,
      ],
      ['chunked in HTTP/1.0', chunked('0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0'), /Transfer-Encoding/i],
      [
        'a folded Transfer-Encoding',
        post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'),
        /:\r\n chunked/i,
      ],
    ]),
  },
  {
    title: 'Chunks',
    vectors: harmful('RFC 9112, 7.1', [
      ['a size with 0x', chunked('0x3\r\nabc\r\n0\r\n\r\n'), /0x3/],
      ['a size with a sign', chunked('+3\r\nabc\r\n0\r\n\r\n'), /\+3/],
      ['a negative size', chunked('-1\r\nabc\r\n0\r\n\r\n'), /-1\r\n/],
      ['a size with a space in front', chunked(' 3\r\nabc\r\n0\r\n\r\n'), /\n 3\r\n/],
      ['a size with a space behind', chunked('3 \r\nabc\r\n0\r\n\r\n'), /\n3 \r\n/],
      ['a size above 2^64', chunked('10000000000000003\r\nabc\r\n0\r\n\r\n'), /\babc\b/],
      ['an empty size', chunked('\r\nabc\r\n0\r\n\r\n'), /\r\n\r\n\r\nabc/],
      ['a size line that ends in LF', chunked('3\nabc\r\n0\r\n\r\n'), /3\nabc/],
      ['data that ends in LF', chunked('3\r\nabc\n0\r\n\r\n'), /abc\n0/],
      ['data that is longer than its size', chunked('3\r\nabcX\r\n0\r\n\r\n'), /abcX/],
      ['a line break in an extension', chunked('3;a=b\nc\r\nabc\r\n0\r\n\r\n'), /b\nc/],
      ['a bare CR in an extension', chunked('3;a=b\rc\r\nabc\r\n0\r\n\r\n'), /b\rc/],
      ['an extension of 100 KB', chunked(`3;${'a'.repeat(100_000)}\r\nabc\r\n0\r\n\r\n`), /a{1000}/],
      ['the last chunk ends in LF', chunked('3\r\nabc\r\n0\n\n'), /0\n\n/],
      [
        'Content-Length in a trailer',
        chunked('3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n'),
        /Content-Length: 9/i,
      ],
      [
        'Authorization in a trailer',
        chunked('3\r\nabc\r\n0\r\nAuthorization: x\r\n\r\n'),
        /Authorization: x/i,
      ],
      ['a trailer without a colon', chunked('3\r\nabc\r\n0\r\nX\r\n\r\n'), /\nX\r\n/],
    ]),
  },
  {
    title: 'Valid requests that must pass',
    vectors: valid([
      ['an empty line in front', 'RFC 9112, 2.2', `\r\n${get('/a')}`],
      [
        'a target in absolute form',
        'RFC 9112, 3.2.2',
        get('http://a.test/a'),
        /^GET (http:\/\/a\.test)?\/a /,
      ],
      ['a new method, QUERY', 'RFC 9110, 9.1', get('/a').replace('GET', 'QUERY'), /^QUERY/],
      [
        'a query with reserved characters',
        'RFC 3986, 3.4',
        get("/a?b=c/d?e:f@g!$&'()*+,;=%20"),
        /\?b=c\/d\?e:f@g!\$&'\(\)\*\+,;=%20/,
      ],
      ['bytes above 127 in a value', 'RFC 9110, 5.5', get('/a', `${HOST}X: caf\xe9\r\n`), /X: caf\xe9/i],
      ['an empty value', 'RFC 9110, 5.5', get('/a', `${HOST}X-Empty:\r\n`), /X-Empty:/i],
      [
        'white space around a value',
        'RFC 9112, 5',
        get('/a', `${HOST}X-Space: \t y \t\r\n`),
        /X-Space:[ \t]*y[ \t]*\r\n/i,
      ],
      [
        '100 fields',
        'RFC 9110, 5.4',
        get('/a', HOST + Array.from({ length: 99 }, (_, i) => `X-${i}: y\r\n`).join('')),
        /X-98: y/i,
      ],
      [
        'a body of a GET',
        'RFC 9110, 9.3.1',
        `GET /a HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`,
        /hello/,
      ],
      [
        'DELETE with chunks',
        'RFC 9110, 9.3.5',
        chunked('3\r\nabc\r\n0\r\n\r\n').replace('POST', 'DELETE'),
        /abc/,
      ],
      ['chunks with an extension', 'RFC 9112, 7.1.1', chunked('3;a="b c"\r\nabc\r\n0\r\n\r\n'), /abc/],
      ['a chunk size with zeros in front', 'RFC 9112, 7.1', chunked('0003\r\nabc\r\n0\r\n\r\n'), /abc/],
      ['a trailer', 'RFC 9112, 7.1.2', chunked('3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n'), /abc/],
      [
        'Expect: 100-continue, body at once',
        'RFC 9110, 10.1.1',
        post('Expect: 100-continue\r\nContent-Length: 5\r\n', 'hello'),
        /hello/,
      ],
    ]),
  },
];
