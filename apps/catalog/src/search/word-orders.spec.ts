import fc from 'fast-check';
import { OrderedWords } from './ordered-words.js';
import { WordOrders } from './word-orders.js';

interface Placed {
  word: number;
  position: number;
}

function hasPhrase(text: Placed[], words: number[], distances: number[]): boolean {
  const isAt = (index: number, position: number): boolean => index === words.length || text.some((placed) => placed.word === words[index] && placed.position === position && isAt(index + 1, position + distances[index + 1]!));
  return text.some(({ position }) => isAt(0, position));
}

describe('orders of words', () => {
  it('say what phrases a text has, in whatever order its words came', () => {
    const anyWord = fc.constantFrom(0, 1, 2, 2 ** 25 - 1);
    // Several words may have the last position that PostgreSQL counts.
    const anyText = fc.array(fc.record({ word: anyWord, position: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 16_370, max: 16_383 })) }), { maxLength: 30 });
    const anyPhrase = fc.array(fc.record({ word: anyWord, distance: fc.integer({ min: 1, max: 3 }) }), { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 1, maxLength: 20 }), fc.array(anyPhrase, { minLength: 1, maxLength: 10 }), (texts, phrases) => {
        const orders = new WordOrders();
        const text = new OrderedWords();
        for (const placed of texts) {
          text.clear();
          for (const { word, position } of placed) text.put(word, position);
          text.sort();
          orders.add(text);
        }
        for (const phrase of phrases) {
          const [words, distances] = [phrase.map(({ word }) => word), phrase.map(({ distance }) => distance)];
          expect(texts.map((_, number) => orders.has(number, words, distances))).toEqual(texts.map((placed) => hasPhrase(placed, words, distances)));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('are kept of texts that are longer than a page', () => {
    const orders = new WordOrders();
    const text = new OrderedWords();
    for (let position = 1; position <= 300_000; position += 1) text.put(position % 1_000, position);
    text.sort();
    for (let number = 0; number < 3; number += 1) orders.add(text);
    expect([0, 1, 2].map((number) => [orders.has(number, [998, 999, 0], [0, 1, 1]), orders.has(number, [998, 0], [0, 1])])).toEqual(Array(3).fill([true, false]));
  });
});
