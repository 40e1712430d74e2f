import { describe, expect, it } from 'vitest';
import { threadProcessorMs } from '../../../../src/core/index.ts';
import { WebhookPaths } from '../../../../src/wire/http/index.ts';

const paths = new WebhookPaths(['/hooks/{id}/{token}', '/{tenant}/notify/{token}/done', '/all%20of/**']);

describe('the addresses of webhooks', () => {
  it.each([
    ...['/hooks/1/secret', '/hooks/1/secret/more', '/x/hooks/1/secret', '/hooks/hooks/1/secret'],
    ...['/x/../hooks/./1//secret', '/HOOKS;a=b/1%2Fsecret', '\\hooks\\1\\secret'],
    ...['/%2568ooks%252F1%252Fsecret', '/acme/notify/secret/done;x', '/all of/secret', '/ALL%20of/secret'],
  ])('%s holds one', path => {
    expect(paths.isIn(path)).toBe(true);
  });

  it.each([
    ...['/', '', '*', '/hooks/1', '/1/hooks', '/notify/1/done'],
    ...['/allof/1', '/api/orders/7', '/a/notify/done'],
  ])('%s holds none', path => {
    expect(paths.isIn(path)).toBe(false);
  });

  it('are all paths if a webhook takes every path', () => {
    expect(new WebhookPaths(['/**']).isIn('/')).toBe(true);
    expect(new WebhookPaths([]).isIn('/')).toBe(false);
  });

  it('are found among thousands in a path of thousands of parts', () => {
    const many = Array.from({ length: 5_000 }, (_, i) => [
      `/{tenant}/hook${i}/{token}`,
      `/hooks/x${i}/{token}`,
    ]);
    const beforeMs = threadProcessorMs();
    expect(new WebhookPaths(many.flat()).isIn('/a'.repeat(100_000))).toBe(false);
    expect(threadProcessorMs() - beforeMs).toBeLessThan(3_000);
  });
});
