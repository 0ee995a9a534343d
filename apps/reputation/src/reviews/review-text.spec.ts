import { textProblem } from './review-text.js';

describe('the texts of a review', () => {
  it('may be missing or empty', () => {
    expect([textProblem({}), textProblem({ title: '', comment: '' })]).toEqual([null, null]);
  });

  it.each(['nul \0', 'half \ud83d', '\udc69 half'])('hold nothing PostgreSQL cannot keep, like %j', (text) => {
    for (const field of ['title', 'comment'])
      expect(textProblem({ [field]: text })).toEqual({ field, problem: 'must be well-formed Unicode without NUL' });
  });
});
