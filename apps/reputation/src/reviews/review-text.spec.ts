import { textProblem } from './review-text.js';

describe('the texts of a review', () => {
  it('are measured in code points', () => {
    expect(textProblem({ title: '👩'.repeat(200), comment: 'ä'.repeat(5_000) })).toBeNull();
    expect(textProblem({ title: '👩'.repeat(201) })).toEqual({
      field: 'title',
      problem: 'must be at most 200 characters',
    });
    expect(textProblem({ comment: 'x'.repeat(5_001) })).toEqual({
      field: 'comment',
      problem: 'must be at most 5000 characters',
    });
  });

  it('may be missing or empty', () => {
    expect([textProblem({}), textProblem({ title: '', comment: '' })]).toEqual([null, null]);
  });

  it.each(['nul \0', 'half \ud83d', '\udc69 half'])('hold nothing PostgreSQL cannot keep, like %j', (text) => {
    for (const field of ['title', 'comment'])
      expect(textProblem({ [field]: text })).toEqual({ field, problem: 'must be well-formed Unicode without NUL' });
  });
});
