import { newId } from '@market/kernel';
import fc from 'fast-check';
import { isSlug, slugCandidates, slugOf } from './slug.js';

const firstOf = (name: string, count: number): string[] => {
  const candidates = slugCandidates(name);
  return Array.from({ length: count }, () => candidates.next().value);
};

describe('a slug', () => {
  it.each([
    ['Weather Forecasts', 'weather-forecasts'],
    ['  --Hello,   World!--  ', 'hello-world'],
    ['Crème Brûlée', 'creme-brulee'],
    ['Ærøskøbing Straße Łódź Þór', 'aeroskobing-strasse-lodz-thor'],
    ['ＦＵＬＬ ｗｉｄｔｈ ①', 'full-width-1'],
    ['İstanbul ılık', 'istanbul-ilik'],
    ["it's 100% free", 'it-s-100-free'],
    ['OCR 中文', 'ocr-zhong-wen'],
    ['天気予報', 'tian-qi-yu-bao'],
    ['コーヒーAPI', 'kohiapi'],
    ['Погода API', 'pogoda-api'],
    ['Компьютер', 'kompyuter'],
    ['Καιρός', 'kairos'],
    ['날씨 예보', 'nalssi-yebo'],
    ['मौसम', 'mausm'],
    ['الطقس اليوم', 'ltqs-lywm'],
    ['Đà Nẵng', 'da-nang'],
    ['🌦️ Weather', 'weather'],
    ['Wеаthеr', 'weather'],
    ['ОРЕNAI', 'openai'],
    ['сһаllеngе', 'challenge'],
    ['🦊🦊', 'listing'],
    ['../../etc/passwd\0', 'etc-passwd'],
    ['A'.repeat(100), 'a'.repeat(80)],
    [`${'a'.repeat(79)} b`, 'a'.repeat(79)],
  ])('of %j is %s', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });

  it('is an address whatever the name, also with a suffix', () => {
    const anyName = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 100 }),
      fc.string({ unit: 'binary', maxLength: 100 }),
    );
    fc.assert(
      fc.property(anyName, (name) => {
        const candidates = firstOf(name, 9);
        for (const slug of candidates) expect(isSlug(slug)).toBe(true);
        expect(new Set(candidates).size).toBe(9);
      }),
    );
  });

  it('is plain first, then numbered, then random', () => {
    const candidates = firstOf('Weather', 7);
    expect(candidates.slice(0, 5)).toEqual(['weather', 'weather-2', 'weather-3', 'weather-4', 'weather-5']);
    for (const slug of candidates.slice(5)) expect(slug).toMatch(/^weather-[0-9a-f]{6}$/);
  });

  it.each(['challenge', 'Categories', 'search', 'сһаllеngе', 'ｎｕｌｌ', newId(), newId().toUpperCase()])(
    'is never plain %s',
    (name) => {
      expect(firstOf(name, 1)).toEqual([`${slugOf(name)}-2`]);
    },
  );

  it.each(['', '-', 'a-', '-a', 'a--b', 'A', 'a b', 'a/b', 'ä', 'a\n', '\0', 'a'.repeat(200)])('is not %j', (text) => {
    expect(isSlug(text)).toBe(false);
  });
});
