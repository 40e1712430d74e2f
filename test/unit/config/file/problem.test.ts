import { describe, expect, it } from 'vitest';
import { formatProblem, type Problem, sortProblems } from '../../../../src/config/file/problem.ts';

const mistake: Problem = { file: 'a.yaml', line: 3, column: 7, message: 'no', severity: 'mistake' };

describe('formatProblem', () => {
  it('begins with the place, as compilers write it', () => {
    expect(formatProblem(mistake)).toBe('a.yaml:3:7: no');
  });

  it('marks a warning', () => {
    expect(formatProblem({ ...mistake, severity: 'warning' })).toBe('a.yaml:3:7: warning: no');
  });

  it('names the file alone where all of it is meant', () => {
    expect(formatProblem({ ...mistake, line: null, column: null })).toBe('a.yaml: no');
  });
});

describe('sortProblems', () => {
  it('puts them in the order of the file, each once', () => {
    const at = (line: number, column: number): Problem => ({ ...mistake, line, column });
    const places = sortProblems([at(2, 1), at(1, 9), at(10, 1), at(1, 2), at(1, 9)]).map(
      ({ line, column }) => `${line}:${column}`,
    );
    expect(places).toEqual(['1:2', '1:9', '2:1', '10:1']);
  });
});
