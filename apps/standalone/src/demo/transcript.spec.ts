import { foldJson } from './fold-json.js';
import { BrokenPromise, Transcript } from './transcript.js';

class Paper {
  text = '';
  columns = 60;

  write(text: string): void {
    this.text += text;
  }
}

const KEY = `am_k_${'Ab3'.repeat(16)}x`;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

describe('Transcript', () => {
  let paper: Paper;
  let transcript: Transcript;

  beforeEach(() => {
    paper = new Paper();
    transcript = new Transcript(paper);
  });

  it('never writes a key or a secret in full, wherever it appears', () => {
    transcript.table([['key', KEY]]);
    transcript.promise(`knows ${SECRET}`, true);
    transcript.full({
      method: 'POST',
      path: '/api/v1/register',
      requestHeaders: new Headers({ authorization: `Bearer ${KEY}` }),
      requestBody: JSON.stringify({ key: KEY }),
      status: 201,
      statusText: 'Created',
      responseHeaders: new Headers({ 'x-request-id': 'r-1' }),
      responseBody: JSON.stringify({ data: { api_key: KEY, authorization_header: `Bearer ${KEY}`, secret: SECRET } }),
      milliseconds: 3,
    });

    expect(paper.text).not.toContain(KEY.slice(0, 12));
    expect(paper.text).not.toContain(SECRET.slice(0, 14));
    expect(paper.text).toContain('Authorization: Bearer am_k_Ab3A…');
    expect(paper.text).toContain('"api_key": "am_k_Ab3A…"');
  });

  it('writes no colours where they are not shown', () => {
    transcript.step('A step');
    transcript.promise('a promise', true);

    expect(paper.text).toBe('\n  1  A step\n     ✓ a promise\n');
  });

  it('aligns money to the right', () => {
    transcript.table([['Ada', '$0.25'], ['Otto', '$12.2375']], { head: ['who', 'amount'], right: [1] });

    expect(paper.text).toBe('     who      amount\n     Ada       $0.25\n     Otto   $12.2375\n');
  });

  it('stops at a broken promise and says what was found', () => {
    expect(() => transcript.promise('2 is 3', false, 2)).toThrow(new BrokenPromise('2 is 3', 2));
    expect(transcript.promisesKept).toBe(0);
  });
});

it('folds JSON where it is wider than the page, and loses nothing', () => {
  const value = { a: 1, list: [1, 'two', null], long: { text: 'x'.repeat(20), deep: { more: [true, {}] } } };

  expect(foldJson(value, 200)).not.toContain('\n');
  expect(JSON.parse(foldJson(value, 30))).toEqual(value);
  expect(foldJson(value, 30).split('\n').every((line) => line.length <= 40)).toBe(true);
});
