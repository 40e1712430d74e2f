import { describe, expect, it } from 'vitest';
import { resolveVariables } from '../../../../src/config/file/yaml-tree.ts';

const ENV = { HOST: 'api', PORT_2: '3000', EMPTY: '', NESTED: `\${HOST}`, _x: 'y' };

// Nothing of what stands in the braces is repeated: it may be a secret.
const NO_NAME = `only a name, or a name with a default as in \${NAME:-text}, may be inside \${ }; write $\${ for a literal \${`;
const NOT_CLOSED = `a "\${" is not closed: write \${NAME}, or $\${ for a literal \${`;

describe('resolveVariables', () => {
  it.each([
    ['text', 'text'],
    [`\${HOST}`, 'api'],
    [`http://\${HOST}:\${PORT_2}/`, 'http://api:3000/'],
    [`\${_x}`, 'y'],
    [`a\${EMPTY}b`, 'ab'],
    ['$HOST', '$HOST'],
    ['100$', '100$'],
    [`$\${HOST}`, `\${HOST}`],
    [`$\${`, `\${`],
    [`$$\${HOST}`, `$\${HOST}`],
    ['{HOST}', '{HOST}'],
    [`\${HOST:-x}`, 'api'],
    [`\${GONE:-x}`, 'x'],
    [`\${EMPTY:-x}`, 'x'],
    [`\${GONE:-}`, ''],
    [`http://\${GONE:-[::1]}:\${PORT:-30 00}/`, 'http://[::1]:30 00/'],
    [`\${GONE:-$HOST:-\n{}`, '$HOST:-\n{'],
    [`$\${GONE:-x}`, `\${GONE:-x}`],
    [`\${constructor:-x}`, 'x'],
  ])('makes %j into %j', (text, resolved) => {
    expect(resolveVariables(text, ENV)).toEqual({ ok: true, text: resolved });
  });

  it('does not resolve what a variable holds', () => {
    expect(resolveVariables(`\${NESTED}`, ENV)).toEqual({ ok: true, text: `\${HOST}` });
  });

  it('reports each variable that is not set', () => {
    expect(resolveVariables(`\${A}-\${HOST}-\${B}`, ENV)).toEqual({
      ok: false,
      errors: ['the environment variable A is not set', 'the environment variable B is not set'],
    });
  });

  it('knows no variable of the name that every object has', () => {
    expect(resolveVariables(`\${constructor}`, ENV)).toEqual({
      ok: false,
      errors: ['the environment variable constructor is not set'],
    });
  });

  it.each([
    ...[`\${}`, `\${A-B}`, `\${1A}`, `\${HOST`, `\${ HOST }`, `\${:-x}`, `\${HOST:-x`],
    ...[`\${HOST:x}`, `\${HOST-x}`, `\${HOST:=x}`, `\${HOST:?x}`],
  ])('takes %j for a slip of the pen', text => {
    expect(resolveVariables(text, ENV)).toEqual({
      ok: false,
      errors: [text.endsWith('}') ? NO_NAME : NOT_CLOSED],
    });
  });

  it('looks for no variable in the text for one that is not set', () => {
    const text = `\${GONE:-\${HOST}}`;
    expect(resolveVariables(text, ENV)).toEqual({ ok: false, errors: [NO_NAME] });
  });
});
