import { describe, expect, it } from 'vitest';
import {
  type AnonymousRevocation,
  REVOCATION_LIMITS,
  Revocations,
} from '../../../../src/identity/auth/index.ts';
import { revocableOf, sessionDigest } from '../../../../src/identity/auth/revocation-rules.ts';
import { clock, hearing, START_S } from './fixture.ts';

const make = () => new Revocations(REVOCATION_LIMITS, { ...clock, epochMs: () => START_S * 1_000 }, () => {});
const old = revocableOf({ claims: { iat: START_S - 1, sub: 'ada', sid: 's1' }, signingInput: '' });

describe('the revocations of several issuers', () => {
  it('do not concern each other', () => {
    const all = make();
    all.of('https://a').revokeSubject('ada', START_S);
    all.of('https://a').endSession(sessionDigest('s1'));
    all.of('https://a').push({ markS: START_S, order: 1 });
    expect([all.of('https://a').refusal(old), all.of('https://b').refusal(old)]).toEqual([
      'not_before',
      null,
    ]);
  });

  it('reach other gateways, also before those know the issuer, and name nobody', () => {
    const [one, two] = [make(), make()];
    const told: AnonymousRevocation[] = [];
    one.shareBy(
      hearing(each => {
        told.push(each);
        two.adopt(each);
      }),
    );
    two.shareBy(hearing(() => expect.fail('what was adopted is not announced')));
    one.of('https://a').revokeSubject('ada', START_S);
    one.of('https://b').endSession(sessionDigest('s1'));
    one.of('https://c').push({ markS: START_S, order: 1 });
    one.of('https://d').learnPolicy('ada', START_S);
    const reasons = ['a', 'b', 'c', 'd', 'e'].map(name => two.of(`https://${name}`).refusal(old));
    expect(reasons).toEqual(['not_before', 'signed_out', 'not_before', 'not_before', null]);
    for (const { issuer, whom } of told) {
      expect(issuer).toMatch(/^[\w-]{22}$/);
      expect(whom).toMatch(/^([\w-]{22}|\d+)$/);
    }
    expect([...two.running()]).toEqual([...one.running()]);
  });

  it('are counted together', () => {
    const all = make();
    expect(all.counts).toEqual({ sessions: 0, subjects: 0 });
    for (const name of ['https://a', 'https://b']) all.of(name).endSession(sessionDigest('s1'));
    all.of('https://a').revokeSubject('ada', START_S);
    all.of('https://b').learnPolicy('bob', START_S);
    expect(all.counts).toEqual({ sessions: 2, subjects: 2 });
  });

  it('are bounded in number, whatever other gateways say', () => {
    const all = make();
    for (let i = 0; i < 2_000; i += 1)
      all.adopt({ kind: 'everyone', issuer: `issuer ${i}`, whom: '', value: START_S, forMs: 1_000 });
    expect([...all.running()]).toHaveLength(1_000);
  });
});
