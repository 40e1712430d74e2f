import { describe, expect, it } from 'vitest';
import { MAX_NOTICE_BYTES, noticeToken } from '../../../../src/identity/auth/notice-token.ts';

const FORM = 'application/x-www-form-urlencoded';
const bytes = (text: string) => Buffer.from(text);

describe('the body of a push', () => {
  it('is the token itself, as text', () => {
    for (const type of ['text/plain', 'Text/Plain; charset=ISO-8859-1', ' text/plain ;charset=x'])
      expect(noticeToken('not_before_push', type, bytes('a.b.c'))).toEqual({ token: 'a.b.c' });
  });

  it.each([undefined, '', FORM, 'application/json', 'text/plainer'])('is refused as %j', type => {
    expect(noticeToken('not_before_push', type, bytes('a.b.c'))).toEqual({
      expected: 'the body must be text/plain',
    });
  });
});

describe('the body of a logout', () => {
  it('is a form that has one logout token, whatever else it has', () => {
    expect(noticeToken('back_channel_logout', FORM, bytes('x=1&logout_token=a.b.c&y'))).toEqual({
      token: 'a.b.c',
    });
  });

  it.each(['', 'a.b.c', 'token=a.b.c', 'logout_token=a&logout_token=a'])('is refused as %j', text => {
    expect(noticeToken('back_channel_logout', FORM, bytes(text))).toEqual({
      expected: 'the body must have one logout_token',
    });
  });

  it('is refused as text', () => {
    expect(noticeToken('back_channel_logout', 'text/plain', bytes('a'))).toEqual({
      expected: `the body must be ${FORM}`,
    });
  });
});

it('the body of a notice is bounded', () => {
  const [longest, longer] = [0, 1].map(more => Buffer.alloc(MAX_NOTICE_BYTES + more, 'a'));
  expect(noticeToken('not_before_push', 'text/plain', longest ?? bytes(''))).toHaveProperty('token');
  expect(noticeToken('not_before_push', 'text/plain', longer ?? bytes(''))).toHaveProperty('expected');
});
