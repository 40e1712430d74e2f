import { expect, test } from 'vitest';
import { hasCode, SOME_SLOTS, WRONG_SERVER } from '../../../../../src/limits/redis/connection/error-codes.ts';

const wrapped = (text: string) =>
  new Error(`ERR Error running script (call to f_1028a5dba704): @user_script:5: @user_script: 5: -${text}`);

test.each([
  new Error("READONLY You can't write against a read only replica."),
  new Error("READONLY You can't write against a read only replica. script: 1028a5dba704, on @user_script:5."),
  // Redis 6.2.
  wrapped("READONLY You can't write against a read only replica."),
  // Dragonfly.
  new Error('ERR Error running script (call to d8f2): @user_script:2: -READONLY You can not write.'),
  new Error("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
  wrapped("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
  new Error('LOADING Redis is loading the dataset in memory'),
])('another connection may lead to the right server: %s', error => {
  expect(hasCode(error, WRONG_SERVER)).toBe(true);
});

test.each([
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys request during rehashing of slot',
  'Too many Cluster redirections. Last error: ReplyError: ASK 3999 127.0.0.1:6381',
])('only some slots cannot be used: %s', text => {
  expect(hasCode(new Error(text), SOME_SLOTS)).toBe(true);
  expect(hasCode(new Error(text), WRONG_SERVER)).toBe(false);
});

test.each([
  'NOREPLICAS Not enough good replicas to write.',
  'CLUSTERDOWN The cluster is down',
  "OOM command not allowed when used memory > 'maxmemory'.",
  'ERR wrong number of arguments, READONLY_MODE is unknown',
])('the server is the right one, and cannot: %s', text => {
  expect(hasCode(new Error(text), WRONG_SERVER)).toBe(false);
  expect(hasCode(new Error(text), SOME_SLOTS)).toBe(false);
});
