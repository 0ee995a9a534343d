import { wordsOf } from './words.js';

/** What a text asks for. */
export interface AskedText {
  /** The words in their order; `joined` are the compounds that a word is part of, and `parts` those of "mp3". */
  words: { word: string; written: string; joined: string[]; parts: string[] }[];
  /** Phrases in quotes, which a listing must have. */
  required: string[][];
  /** Words and phrases after a minus, which a listing must not have. */
  excluded: string[][];
}

const MAX_WORDS = 64;
const MAX_REQUIRED = 8;
const TERM = /(?<!\S)(-?)"([^"]*)"|(?<!\S)-(?=[\p{L}\p{N}])(\S+)/gu;
/** A word that joins alternatives in the notation of web searches; every word is an alternative here. */
const OR = /(?<=\s)OR(?=\s)/g;

const partsOf = (text: string): string[] =>
  wordsOf(text)
    .filter(({ isJoined }) => !isJoined)
    .map(({ word }) => word)
    .slice(0, MAX_WORDS);

export function readText(text: string): AskedText {
  const required: string[][] = [];
  const excluded: string[][] = [];
  const rest = text.replace(TERM, (_term, minus: string | undefined, phrase: string | undefined, word?: string) => {
    const words = partsOf(phrase ?? word ?? '');
    const isExcluded = word !== undefined || minus === '-';
    const kept = isExcluded ? excluded : required;
    if (words.length > 0 && kept.length < MAX_REQUIRED) kept.push(words);
    return isExcluded ? ' ' : ` ${phrase} `;
  });
  const found = wordsOf(rest.replace(OR, ' '));
  const words: AskedText['words'] = [];
  const starts = new Map<number, number>();
  for (const { word, written, at, isJoined, isCode } of found) {
    if (isCode) {
      const parts = words.splice(starts.get(at)!).map((part) => part.word);
      words.push({ word, written, joined: [], parts });
    } else if (isJoined) {
      // The joined form follows its parts.
      for (let index = starts.get(at)!; index < words.length; index += 1) words[index]!.joined.push(word);
    } else {
      starts.set(at, words.length);
      words.push({ word, written, joined: [], parts: [] });
    }
  }
  return { words: words.slice(0, MAX_WORDS), required, excluded };
}
