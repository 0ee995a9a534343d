import { BrokenPromise, Transcript } from './transcript.js';

const KEY = `am_k_${'Ab3'.repeat(16)}x`;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

describe('Transcript', () => {
  let text: string;
  let transcript: Transcript;

  beforeEach(() => {
    text = '';
    transcript = new Transcript({ write: (added) => (text += added) });
  });

  it.each([true, false])(
    'never writes a key or a secret in full, wherever it appears (isDetailed: %s)',
    async (isDetailed) => {
      transcript.step(`with ${KEY}`, { isDetailed });
      transcript.table([['key', KEY]]);
      transcript.promise(`knows ${SECRET}`, true);
      const answer = Buffer.from(JSON.stringify({ api_key: KEY, secret: SECRET })).toString('base64');
      const headers = { authorization: `Bearer ${KEY}` };
      await transcript.fetch(`data:application/json;base64,${answer}`, { headers });

      expect(text).not.toContain(KEY.slice(0, 12));
      expect(text).not.toContain(SECRET.slice(0, 14));
      expect(text.includes('authorization: Bearer am_k_Ab3A…')).toBe(isDetailed);
      expect(text.includes("api_key: 'am_k_Ab3A…'")).toBe(isDetailed);
    },
  );

  it('writes no colours where they are not shown', () => {
    transcript.step('A step');
    transcript.promise('a promise', true);

    expect(text).toBe('\n  1  A step\n     ✓ a promise\n');
  });

  it('stops at a broken promise and says what was found', () => {
    expect(() => transcript.promise('2 is 3', false, 2)).toThrow(new BrokenPromise('2 is 3', 2));
    expect(transcript.promisesKept).toBe(0);
  });
});
