import { expect, test } from 'vitest';
import { mediaTypeRefusal } from '../../../../src/identity/signin/read-request.ts';

test.each([undefined, '', 'application/json', 'Application/JSON ; charset=utf-8'])(
  'the media type %j is taken',
  type => {
    expect(mediaTypeRefusal(type)).toBeUndefined();
  },
);

test.each([
  ...['text/plain', 'application/x-www-form-urlencoded'],
  ...['application/jsonp', 'application/json, text/plain', 'json'],
])('the media type %j is refused with 415', type =>
  expect(mediaTypeRefusal(type)).toMatchObject({ status: 415, rpcCode: 3 }),
);
