export interface Word {
  word: string;
  /** As it was written, in lower case. */
  written: string;
  /** The position in the text, from 1. The joined form of a compound has the position of its first part. */
  at: number;
  /** Whether it is the joined form of a compound, whose parts are words, too. */
  isJoined?: true;
  /** Whether it is the joined form of letters and digits that are one word, like "mp3" or "3.12". */
  isCode?: true;
}

const MAX_LENGTH = 64;

/** Names whose punctuation is part of them. */
const NAMES: [RegExp, string][] = [
  [/(?<![\p{L}\p{N}])c\+\+/giu, 'cplusplus'],
  [/(?<![\p{L}\p{N}])c#/giu, 'csharp'],
  [/(?<![\p{L}\p{N}])f#/giu, 'fsharp'],
  [/(?<![\p{L}\p{N}])\.net(?![\p{L}\p{N}])/giu, 'dotnet'],
  [/['’]s(?!\p{L})/giu, ''],
];
const CHUNK =
  /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[-‐‑_.&+][\p{L}\p{M}\p{N}]+)*|\p{Extended_Pictographic}|\p{Regional_Indicator}{2}/gu;
const SEPARATOR = /[-‐‑_.&+]+/u;
/** Between lower and upper case, before the last capital of several, and between letters and digits. */
const INNER = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})|(?<=[\p{L}\p{M}])(?=\p{N})|(?<=\p{N})(?=\p{L})/u;
/** Scripts that are written without blanks between words, or with endings that no dictionary removes. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;
const RUNS = new RegExp(`${UNSPACED.source}+|(?:(?!${UNSPACED.source})[^])+`, 'gu');
const CODE = /^(?=.*\p{N})(?:(?!\p{Ll}\p{Lu})[\p{L}\p{M}\p{N}])+$/u;
const DECIMAL = /^\p{N}+(?:\.\p{N}+)+$/u;

const FOLDED: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ё: 'е',
  أ: 'ا',
  إ: 'ا',
  آ: 'ا',
};

/** Removes case and the accents of Latin and Greek letters. In other scripts marks are letters of their own. */
const fold = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFD')
    .replace(/([\p{sc=Latin}\p{sc=Greek}])\p{M}+/gu, '$1')
    .normalize('NFC')
    .replace(/[\u064b-\u0652\u0640]/g, '')
    .replace(/[ßæœøłđðþıёأإآ]/g, (letter) => FOLDED[letter]!);

/** Cuts a run of an unspaced script into overlapping pairs of characters. */
function pairsOf(run: string): string[] {
  const characters = [...run];
  return characters.length === 1 ? characters : characters.slice(1).map((second, index) => characters[index]! + second);
}

/** The parts of a compound: "CutOut", "speech-to-text" and "speech2text" have two, three and three. */
function partsOf(chunk: string): string[] {
  const parts = chunk.split(SEPARATOR).flatMap((part) => part.split(INNER));
  return parts.map((part, index) =>
    part === '2' && (parts[index - 1]?.length ?? 0) > 1 && (parts[index + 1]?.length ?? 0) > 1 ? 'to' : part,
  );
}

/** Returns the words of a text in any language, without case and accents, as listings and questions are compared. */
export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  const add = (written: string, at: number, kind?: Pick<Word, 'isJoined' | 'isCode'>): void => {
    const word = fold(written).slice(0, MAX_LENGTH);
    words.push({ word, written: written.toLowerCase(), at, ...kind });
  };
  let at = 1;
  const named = NAMES.reduce((changed, [name, word]) => changed.replace(name, word), text.normalize('NFKC'));
  for (const [chunk] of named.matchAll(CHUNK)) {
    const start = at;
    const parts = partsOf(chunk);
    for (const part of parts)
      for (const [run] of part.matchAll(RUNS))
        for (const word of UNSPACED.test(run) ? pairsOf(run) : [run]) add(word, at++);
    if (parts.length > 1 && !UNSPACED.test(chunk)) {
      const joined = DECIMAL.test(chunk) ? chunk : chunk.split(SEPARATOR).join('');
      const isCode = DECIMAL.test(chunk) || (CODE.test(chunk) && !parts.includes('to'));
      if (joined.length <= MAX_LENGTH) add(joined, start, { isJoined: true, ...(isCode && { isCode }) });
    }
  }
  return words;
}

/** The ways to split a word into two, or into three around "to" or "and". */
export function splitsOf(word: string): string[][] {
  if (!/^\p{L}{6,40}$/u.test(word)) return [];
  const splits: string[][] = [];
  for (let at = 2; at <= word.length - 2; at += 1) splits.push([word.slice(0, at), word.slice(at)]);
  for (const [middle] of word.matchAll(/(?<=\p{L}{3})(?:to|and)(?=\p{L}{3})/gu)) {
    const at = word.indexOf(middle, 3);
    splits.push([word.slice(0, at), middle, word.slice(at + middle.length)]);
  }
  return splits;
}
