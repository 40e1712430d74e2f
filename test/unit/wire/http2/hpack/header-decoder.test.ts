import { describe, expect, test } from 'vitest';
import { FieldGrade, gradeRequestField, HeaderDecoder } from '../../../../../src/wire/http2/hpack/index.ts';
import { Http2Fault } from '../../../../../src/wire/http2/http2-fault.ts';

const bounds = { maxBytes: 4_096, maxFields: 10 };

/** Grades as the names say: `drop-`, `bad-` and `:status`. */
function grade(name: string): FieldGrade {
  if (name.startsWith('drop-')) return FieldGrade.DROPPED;
  if (name.startsWith('bad-')) return FieldGrade.MALFORMED;
  return name === ':status' ? FieldGrade.STATUS : FieldGrade.FIELD;
}

const decoder = () => new HeaderDecoder(bounds, grade);
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const text = (value: string) => Buffer.from(value).toString('hex');

/** A literal without indexing; `40` in place of `00` indexes it. */
function literal(name: string, value: string, first = '00'): string {
  const length = (of: string) => of.length.toString(16).padStart(2, '0');
  return `${first}${length(name)}${text(name)}${length(value)}${text(value)}`;
}

/** What is decoded of the blocks, one after the other. */
function sections(...blocks: string[]): string[] {
  const ours = new HeaderDecoder(bounds, () => FieldGrade.FIELD);
  return blocks.map(block => {
    const { fields } = ours.decode(hex(block));
    return fields.join('|');
  });
}

test('fields that are never indexed are named, and no others, in a section of their own', () => {
  const ours = decoder();
  const blocks = [literal('a', '1', '10') + literal('b', '2') + literal('c', '3', '40'), literal('d', '4')];
  const names = blocks.map(block => [...ours.decode(hex(block)).neverIndexed]);
  expect(names).toEqual([['a'], []]);
});

test('a block that was read before is read anew once the table has changed', () => {
  const blocks = [literal('a', '1', '40'), 'be', 'be', literal('b', '2', '40'), 'be'];
  expect(sections(...blocks)).toEqual(['a|1', 'a|1', 'a|1', 'b|2', 'b|2']);
  expect(() => sections(...blocks.slice(0, 3), '20', 'be')).toThrow(Http2Fault);
});

test('a block that adds to the table does so each time that it comes', () => {
  const adding = literal('a', '1', '40');
  expect(sections(adding, adding, 'bf')).toEqual(['a|1', 'a|1', 'a|1']);
});

test('the last two blocks are remembered, unless they are large', () => {
  const ours = decoder();
  const decode = (value: string) => ours.decode(hex(literal('a', value)));
  const [first, second] = [decode('1'), decode('2')];
  expect([decode('1') === first, decode('2') === second]).toEqual([true, true]);
  const third = decode('3');
  expect([decode('2') === second, decode('3') === third]).toEqual([true, true]);
  const again = decode('1');
  expect([again === first, decode('1') === again, decode('2') === second]).toEqual([false, true, false]);
  const isKept = (block: Buffer) => {
    const before = ours.decode(block);
    return ours.decode(block) === before;
  };
  expect([4_096, 4_097].map(bytes => isKept(Buffer.alloc(bytes, 0x88)))).toEqual([true, false]);
});

test('a block ends where its frame does, whatever bytes are behind it', () => {
  const ours = decoder();
  const decode = (block: string, behind: string) => {
    const bytes = hex(`82${block}${behind}`);
    return ours.decode(bytes, 1, 1 + hex(block).length).fields;
  };
  expect(decode(literal('a', '1', '40'), '20')).toEqual(['a', '1']);
  expect([decode('', '20'), decode('be', '82')]).toEqual([[], ['a', '1']]);
  for (const [block, behind] of [
    ['3f', '00'],
    ['ff', '00'],
    ['00', '01610131'],
    ['000161', '0131'],
  ] as const)
    expect(() => decode(block, behind), block).toThrow(Http2Fault);
});

test('an integer may have four bytes behind its prefix', () => {
  expect(sections('3f 80 80 80 00 82')).toEqual([':method|GET']);
});

test('a string may not be a byte longer than its block', () => {
  expect(sections('00 0161 0131')).toEqual(['a|1']);
  expect(() => sections('00 0161 0231')).toThrow(Http2Fault);
});

describe('the examples of RFC 7541', () => {
  test.each([
    ['C.2.1', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', 'custom-key|custom-header'],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', ':path|/sample/path'],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', 'password|secret'],
    ['C.2.4', '82', ':method|GET'],
  ])('%s', (_, block, section) => {
    expect(sections(block)).toEqual([section]);
  });

  const requests = [
    ':method|GET|:scheme|http|:path|/|:authority|www.example.com',
    ':method|GET|:scheme|http|:path|/|:authority|www.example.com|cache-control|no-cache',
    ':method|GET|:scheme|https|:path|/index.html|:authority|www.example.com|custom-key|custom-value',
  ];

  test('C.3, requests', () => {
    const plain = [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ];
    expect(sections(...plain)).toEqual(requests);
  });

  test('C.4, requests in Huffman codes', () => {
    const huffman = [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ];
    expect(sections(...huffman)).toEqual(requests);
  });

  const date = ['date|Mon, 21 Oct 2013 20:13:21 GMT', 'date|Mon, 21 Oct 2013 20:13:22 GMT'];
  const location = 'location|https://www.example.com';
  const responses = [
    `:status|302|cache-control|private|${date[0]}|${location}`,
    `:status|307|cache-control|private|${date[0]}|${location}`,
    `:status|200|cache-control|private|${date[1]}|${location}|content-encoding|gzip|` +
      'set-cookie|foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ];
  // The examples have a table of 256 bytes.
  const resize = '3fe1 01';

  test('C.5, responses that push each other out of the table', () => {
    const plain = [
      `${resize} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
      '4803 3330 37c1 c0bf',
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
    ];
    expect(sections(...plain)).toEqual(responses);
  });

  test('C.6, the same in Huffman codes', () => {
    const huffman = [
      `${resize} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
      '4883 640e ffc1 c0bf',
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
    ];
    expect(sections(...huffman)).toEqual(responses);
  });
});

describe('a header block is a fault of the connection', () => {
  test.each([
    ['with the index 0', '80'],
    ['with the index 0 in front of what could be a literal', '80 01 61 01 62'],
    ['with an index behind the table', 'be'],
    ['with a name of an index behind the table', '7e 01 61'],
    ['with an integer that never ends', 'ff ff ff ff ff ff ff'],
    ['with an integer beyond all bounds', 'ff ff ff ff ff 7f'],
    ['that ends inside an integer', 'ff 80'],
    ['that ends in front of a string', '00'],
    ['that ends in front of a value', '00 01 61'],
    ['that ends inside a string', '00 05 61'],
    ['that makes the table larger than agreed', '3f e2 1f'],
    ['that changes the table behind a field', '82 20'],
    ['that changes the table in front of what could be a literal', '82 20 01 61 01 62'],
    ['with padding of zeros', '00 81 00 01 61'],
    ['with padding of a whole byte', '00 82 1f ff 01 61'],
    ['with EOS in a string', '00 84 ff ff ff ff 01 61'],
  ])('%s', (_, block) => {
    expect(() => decoder().decode(hex(block))).toThrow(Http2Fault);
    expect(() => decoder().decode(hex(block))).toThrow(expect.objectContaining({ code: 9 }));
  });
});

describe('a header section', () => {
  const requestSection = (...blocks: string[]) =>
    new HeaderDecoder(bounds, gradeRequestField).decode(hex(blocks.join('')));
  const length = literal('content-length', '5');

  test('tells its pseudo-fields, its length and its priority', () => {
    const { METHOD, SCHEME, PATH } = FieldGrade;
    expect(requestSection('82 84 86', literal('a', '1'))).toMatchObject({
      ...{ flaw: null, pseudo: METHOD | SCHEME | PATH, length: null, priority: null },
    });
    expect(requestSection('82', length, literal('priority', 'u=1'), literal('a', '1'))).toMatchObject({
      ...{ flaw: null, pseudo: METHOD, length: '5', priority: 'u=1' },
      fields: [':method', 'GET', 'content-length', '5', 'priority', 'u=1', 'a', '1'],
    });
  });

  test('says what its flaw is', () => {
    const flaws = [[length, length], [literal('a', '1'), '82'], ['82', '83'], [literal('A', '1')]].map(
      blocks => requestSection(...blocks).flaw,
    );
    expect(flaws).toEqual([
      ...['content-length that comes twice', 'a pseudo-header field after a regular field'],
      ...['a pseudo-field that comes twice', 'a field that HTTP/2 forbids'],
    ]);
  });

  test('has no fields that are dropped', () => {
    const section = decoder().decode(hex(literal('drop-a', '1') + literal('b', '2')));
    expect(section).toMatchObject({ fields: ['b', '2'], flaw: null });
  });

  test.each([
    ['a field that HTTP/2 forbids', literal('bad-a', '1')],
    ['a pseudo-header field after a regular field', literal('a', '1') + literal(':status', '200')],
    ['a pseudo-field behind one that is dropped', literal('drop-a', '1') + literal(':status', '200')],
    ['a second pseudo-field', literal(':status', '200') + literal(':status', '200')],
    ['too many fields', literal('a', '1').repeat(11)],
    ['too many bytes', literal('a', 'x'.repeat(100)).repeat(40)],
  ])('is flawed by %s', (_, block) => {
    expect(decoder().decode(hex(block)).flaw).not.toBeNull();
  });

  test('may be as large as allowed, with 32 bytes for each field', () => {
    const block = literal('abc', 'x'.repeat(96)) + literal('a', 'x'.repeat(96)).repeat(2);
    const size = 131 + 2 * 129;
    const exactly = new HeaderDecoder({ maxBytes: size, maxFields: 3 }, grade);
    expect(exactly.decode(hex(block))).toMatchObject({ flaw: null });
    expect(
      new HeaderDecoder({ maxBytes: size - 1, maxFields: 3 }, grade).decode(hex(block)).flaw,
    ).not.toBeNull();
    expect(new HeaderDecoder({ maxBytes: size, maxFields: 2 }, grade).decode(hex(block)).flaw).not.toBeNull();
  });

  test('that is flawed leaves the table as the other side has it', () => {
    const ours = decoder();
    const flawed = ours.decode(
      hex(literal('bad-a', '1') + literal('b', '2', '40') + literal('bad-c', '3', '40')),
    );
    expect(flawed.flaw).not.toBeNull();
    expect(ours.decode(hex('bf'))).toMatchObject({ fields: ['b', '2'], flaw: null });
    expect(ours.decode(hex('be')).flaw).not.toBeNull();
  });

  test('that refers to a large field again and again takes no more memory for it', () => {
    const ours = decoder();
    const large = `40 01 61 7f a1 1e ${'62'.repeat(4_000)}`;
    ours.decode(hex(large));
    expect(ours.decode(Buffer.alloc(16_000, 0xbe))).toMatchObject({
      fields: ['a', 'b'.repeat(4_000)],
      flaw: 'a head that is too large',
    });
  });
});
