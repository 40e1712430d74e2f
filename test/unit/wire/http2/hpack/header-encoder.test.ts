import { expect, test } from 'vitest';
import { HeaderEncoder } from '../../../../../src/wire/http2/hpack/header-encoder.ts';
import { FieldGrade, HeaderDecoder } from '../../../../../src/wire/http2/hpack/index.ts';
import { usedBytes } from '../../../../support/memory.ts';
import { Random } from '../../../../support/random.ts';

const decoderOf = () =>
  new HeaderDecoder({ maxBytes: 10_000_000, maxFields: 10_000 }, () => FieldGrade.FIELD);
const CALL = [
  ...[':method', 'POST', ':scheme', 'http', ':authority', 'a.test', ':path', '/echo.Echo/Unary'],
  ...[
    'content-type',
    'application/grpc',
    'te',
    'trailers',
    'x-auth-subject',
    'alice',
    'authorization',
    'Bearer x',
  ],
];

test('what is encoded is what is decoded, with names in lower case', () => {
  const fields = ['ÄÖ 1', 'x-two', '', 'accept', 'y'.repeat(10_000), 'x-three', 'Ä'.repeat(30)];
  const block = new HeaderEncoder().encode(['X-One', ...fields]);
  expect(decoderOf().decode(block).fields).toEqual(['x-one', ...fields]);
});

test('a section that comes again takes a byte a field', () => {
  const encoder = new HeaderEncoder();
  const withoutToken = CALL.slice(0, -2);
  const first = encoder.encode(withoutToken).length;
  expect([first > 60, encoder.encode(withoutToken).length]).toEqual([true, 7]);
});

test('a secret is never indexed', () => {
  const encoder = new HeaderEncoder();
  const blocks = [0, 1].map(() => encoder.encode(['authorization', 'Bearer x']).toString('hex'));
  // 0001, never indexed (RFC 7541, 6.2.3), and the name of entry 23.
  expect(blocks).toEqual(['1f080842656172657220 78'.replace(' ', ''), '1f08084265617265722078']);
  for (const name of ['cookie', 'proxy-authorization']) expect(encoder.encode([name, 'x'])[0]).toBe(0x1f);
});

test('a field that is to be never indexed takes only its name from a table, whatever was indexed before', () => {
  const [encoder, decoder] = [new HeaderEncoder(), decoderOf()];
  const fields = ['x-key', 'a', ':path', '/', 'x-b', 'c'];
  decoder.decode(encoder.encode(fields));
  expect(decoder.decode(encoder.encode(fields)).neverIndexed).toEqual(new Set());
  const block = encoder.encode(fields, new Set(['x-key', ':path']));
  // Entry 63 is x-key, behind x-b.
  expect([...block.subarray(0, 2)]).toEqual([0x1f, 63 - 0x0f]);
  expect(decoder.decode(block)).toMatchObject({
    fields,
    flaw: null,
    neverIndexed: new Set(['x-key', ':path']),
  });
  expect(encoder.encode(fields)).toHaveLength(3);
});

test('a status comes first', () => {
  const block = new HeaderEncoder().encode(['x-a', 'b'], undefined, 299);
  expect(decoderOf().decode(block).fields).toEqual([':status', '299', 'x-a', 'b']);
});

test('no byte of a field is lost where a block fills the buffer that all blocks share', () => {
  const [encoder, decoder] = [new HeaderEncoder(), decoderOf()];
  for (const name of ['cookie', 'x-key', 'x-large'])
    for (let bytes = 4_060; bytes < 4_096; bytes++) {
      // A block this large leaves a buffer of the usual size, 4,096 bytes, to the next.
      decoder.decode(encoder.encode(['x-a', 'a'.repeat(70_000)]));
      const fields = [name, 'b'.repeat(bytes)];
      expect(decoder.decode(encoder.encode(fields, new Set(['x-key']))).fields).toEqual(fields);
    }
});

test('the memory of a large block is not kept', () => {
  const encoder = new HeaderEncoder();
  const before = usedBytes();
  encoder.encode(['x-a', 'a'.repeat(20_000_000)]);
  encoder.encode([]);
  expect(usedBytes() - before).toBeLessThan(10_000_000);
});

test('a table of no bytes is left empty', () => {
  const [encoder, decoder] = [new HeaderEncoder(), decoderOf()];
  decoder.decode(encoder.encode(CALL));
  encoder.limitTable(0);
  const block = encoder.encode(CALL);
  expect(block[0]).toBe(0x20);
  expect(decoder.decode(block).fields).toEqual(CALL);
  expect(encoder.encode(CALL).length).toBe(block.length - 1);
});

test('thousands of sections of many shapes are decoded as they were', () => {
  const random = new Random(7);
  const [encoder, decoder] = [new HeaderEncoder(), decoderOf()];
  for (let i = 0; i < 3_000; i++) {
    if (random.chance(0.01)) encoder.limitTable(random.below(8_000));
    const fields = Array.from({ length: random.below(12) }, () => [
      `${random.pick(['x-a', 'x-b', 'accept', ':path', 'cookie', 'x-long-name'])}${random.below(random.pick([1, 3, 400]))}`,
      'v'.repeat(random.below(random.pick([3, 40, 1_500]))) + random.below(random.pick([1, 5, 10_000])),
    ]).flat();
    expect(decoder.decode(encoder.encode(fields)).fields).toEqual(fields);
  }
});
