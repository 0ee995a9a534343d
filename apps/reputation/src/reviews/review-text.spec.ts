import { createReview } from '@market/contracts/reputation';
import { textProblem } from './review-text.js';

describe('the texts of a review', () => {
  it('may be missing or empty', () => {
    expect([textProblem({}), textProblem({ title: '', comment: '' })]).toEqual([null, null]);
  });

  it.each(['nul \0', 'half \ud83d', '\udc69 half', 'turned \u202e', 'zero\u200bwidth', 'a\u2060b', '\ufeffa'])(
    'hide nothing, unlike %j',
    (text) => {
      const taken = Object.entries(createReview.input.shape).filter(([, { safeParse }]) => safeParse(text).success);
      const shown = taken.map(([field]) => field).filter((field) => field !== 'listing_ref');
      expect(shown).toEqual(['title', 'comment']);
      for (const field of shown)
        expect(textProblem({ [field]: text })).toEqual({
          field,
          problem: expect.stringContaining('must hold no control, direction or invisible characters: U+') as string,
        });
    },
  );

  it('have several lines in a comment alone', () => {
    expect(textProblem({ comment: 'one\n\ttwo' })).toBeNull();
    expect(textProblem({ title: 'one\ntwo' })).toMatchObject({ field: 'title' });
  });
});
