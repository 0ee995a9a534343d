import fc from 'fast-check';
import { StreamReader } from './stream-reader.js';

const RESULT = '{"billable":true}';

/** Reads a stream of these pieces. The reader hears what `hears` says of each, and all is stored when it asks. */
async function readAll(
  pieces: string[],
  hears: (n: number) => boolean,
  startsWith = 0,
): Promise<{ text: string; result: string | null; asked: number[] }> {
  const whole = Buffer.from(pieces.join(''));
  const asked: number[] = [];
  const reader = new StreamReader(
    { text: pieces.slice(0, startsWith).join(''), offset: 0 },
    (offset) => {
      asked.push(offset);
      const text = whole.subarray(offset).toString();
      return Promise.resolve(
        text === '' ? { text, state: 'ended' as const, dataJson: RESULT } : { text, state: 'open' as const },
      );
    },
    new AbortController().signal,
  );
  let offset = 0;
  pieces.forEach((text, n) => {
    if (hears(n)) reader.hear({ contentId: '', offset, text });
    offset += Buffer.byteLength(text);
  });
  reader.hear({ contentId: '', offset, text: '', isOver: true });
  let text = '';
  const read = reader.read();
  for (;;) {
    const { done, value } = await read.next();
    if (done) return { text, result: value, asked };
    text += value;
  }
}

describe('a reader of a stream', () => {
  it('gets each piece once and in order, whatever it hears, and asks only for what it missed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.stringMatching(/^[a-zäß語]{1,9}$/), fc.boolean()), { minLength: 1, maxLength: 20 }),
        fc.nat(3),
        async (told, startsWith) => {
          const pieces = told.map(([text]) => text);
          const read = await readAll(pieces, (n) => told[n]![1], startsWith);
          expect(read).toMatchObject({ text: pieces.join(''), result: RESULT });
          expect(read.asked.toSorted((a, b) => a - b)).toEqual(read.asked);
        },
      ),
    );
  });

  it('asks for nothing but the end if it hears everything', async () => {
    const pieces = ['one', 'zwei', '三'];
    expect((await readAll(pieces, () => true, 1)).asked).toEqual([Buffer.byteLength(pieces.join(''))]);
  });

  it('keeps no more in memory than it may, and reads the rest from what is stored', async () => {
    const pieces = Array.from({ length: 20 }, (_, n) => String(n % 10).repeat(40_000));
    const { text, asked } = await readAll(pieces, () => true);
    expect(text).toBe(pieces.join(''));
    expect(asked[0]).toBe(6 * 40_000);
  });

  it.each(['cut', 'aborted'])('ends without a result if it is %s', async (how) => {
    const stop = new AbortController();
    const ask = () => Promise.resolve({ text: '', state: how === 'cut' ? ('cut' as const) : ('open' as const) });
    const reader = new StreamReader({ text: 'a', offset: 0 }, ask, stop.signal);
    if (how === 'cut') reader.hear({ contentId: '', offset: 1, text: '', isOver: true });
    const read = reader.read();
    expect(await read.next()).toEqual({ done: false, value: 'a' });
    const end = read.next();
    if (how === 'aborted') stop.abort();
    expect(await end).toEqual({ done: true, value: null });
  });
});
