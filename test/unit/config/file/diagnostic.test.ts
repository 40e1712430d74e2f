import { describe, expect, it } from 'vitest';
import {
  type Diagnostic,
  formatDiagnostic,
  sortDiagnostics,
} from '../../../../src/config/file/diagnostic.ts';

const error: Diagnostic = { file: 'a.yaml', line: 3, column: 7, message: 'no', severity: 'error' };

describe('formatDiagnostic', () => {
  it('begins with the place, as compilers write it', () => {
    expect(formatDiagnostic(error)).toBe('a.yaml:3:7: no');
  });

  it('marks a warning', () => {
    expect(formatDiagnostic({ ...error, severity: 'warning' })).toBe('a.yaml:3:7: warning: no');
  });

  it('names the file alone where all of it is meant', () => {
    expect(formatDiagnostic({ ...error, line: null, column: null })).toBe('a.yaml: no');
  });
});

describe('sortDiagnostics', () => {
  it('puts them in the order of the file, each once', () => {
    const at = (line: number, column: number): Diagnostic => ({ ...error, line, column });
    const places = sortDiagnostics([at(2, 1), at(1, 9), at(10, 1), at(1, 2), at(1, 9)]).map(
      ({ line, column }) => `${line}:${column}`,
    );
    expect(places).toEqual(['1:2', '1:9', '2:1', '10:1']);
  });
});
