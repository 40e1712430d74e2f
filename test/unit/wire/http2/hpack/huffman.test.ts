import { expect, test } from 'vitest';
import { decodeHuffman } from '../../../../../src/wire/http2/hpack/huffman.ts';
import { Http2Fault } from '../../../../../src/wire/http2/http2-fault.ts';

/** All bytes from 0 to 255, as golang.org/x/net/http2/hpack encodes them. */
const ALL_BYTES = [
  'ffc7fffd8fffffe2fffffe3fffffe4fffffe5fffffe6fffffe7fffffe8ffffeafffffff3fffffa7fffffabffffffdfffffeb',
  'fffffecfffffedfffffeefffffefffffff0ffffff1ffffff2fffffffbfffffcffffffd3fffffd7fffffdbfffffdffffffe3f',
  'ffffe7fffffebfffffed4fe3f9ffaffcabf1febfafefe7fdfd2cbb00089969b71d79fb9f7fff20ffbff3ff50ddbd7f061c58',
  'f265cd9f469d5af66dddbf871e5f9cff7ff7fffc3ff9ffe45fff4719242cb34e6e9d68a6a3d7dac426defe3cfaf7fffbfe7f',
  'fbffdffffffcfffe6ffff4bfff9ffffa3fffd3ffff53fffd5ffffb3fffeb7fffdaffffb7ffff73fffeeffffdeffffebffffb',
  'fffffd9ffffdbfffebffffe0ffffeeffffc3ffff8bffff1ffffe4fffee7fffb1ffff97fffd9ffffcdffff9fffffbffffdaff',
  'feeffff4ffffb7fffee7fffe8ffffd3fffdeffffd5fffeeffffbdffffe1fffdfffff7fffff5ffffecffff07fff87fffe0fff',
  'f17fffedffff87ffff77fffeffffeaffff8bfffe3ffff93ffff87fffcbffff37ffff1fffff83ffffe1fffebfffe3ffff3fff',
  'ff2ffffa3ffffd9fffff17ffffc7fffff27ffffdefffffbffffff2fffff8fffffb7fff97fff8fffffe6fffffc1fffff87fff',
  'fe7fffffc5ffffe5fffe4ffff2fffffd1fffff4ffffffefffffe3fffffc9fffff97fffb3ffffcffffb7fffcdffff4ffff9ff',
  'ffd1ffffcffffeaffffafffffddffffeffffff4fffff5fffffabffffa7ffffd7fffff9bffffecfffffb7fffff3fffffe8fff',
  'ffd3fffffabfffff5fffffff7ffffecfffffdbfffffbbfffff7ffffff0fffffbbf',
].join('');

function decode(hex: string): string {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  // Not at the beginning of its memory, and not to its end.
  return decodeHuffman(Buffer.concat([Buffer.from([0x1f]), bytes, Buffer.from([0x07])]), 1, bytes.length + 1);
}

test('every byte is decoded', () => {
  expect(decode(ALL_BYTES)).toBe(String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i)));
});

test('a string may be empty, short, or longer than those before', () => {
  expect([decode(''), decode('1f'), decode('f1e3 c2e5 f23a 6ba0 ab90 f4ff')]).toEqual([
    '',
    'a',
    'www.example.com',
  ]);
  expect(decode('00'.repeat(5_000))).toBe('0'.repeat(8_000));
});

test.each([
  ['eight bits of padding', '1f ff'],
  ['more than a byte of padding', 'ff ff'],
  ['padding of zeros', '18'],
  ['EOS', 'ff ff ff ff'],
  ['EOS in front of a symbol', 'ff ff ff fc 7f'],
  ['EOS behind symbols', '00 3f ff ff ff'],
  ['a code that breaks off', 'ff c0'],
])('%s is an error', (_, hex) => {
  expect(() => decode(hex)).toThrow(Http2Fault);
});
