import { RE2JSSyntaxException, RE2Set } from 're2js';
import { re2Of, UnsupportedPattern } from './re2-syntax.js';

const MAX_LENGTH = 200;
/** A test takes time in proportion to the text times this. */
const MAX_INSTRUCTIONS = 1_024;
/** States of a pattern's automaton beyond this are made again when they are needed. */
const AUTOMATON_BYTES = 131_072;
const INSTRUCTION_BYTES = 1_024;
const MAX_KEPT_BYTES = 33_554_432;

const TOO_LARGE = 'it is too large with its repetitions written out: use maxLength for long texts';
const HINTS: Record<string, string> = {
  'invalid repeat count': 'at most 1000 repetitions, those within one another multiplied',
  'invalid character class range': 'a property is written as \\p{Lu}, \\p{Script=Greek} or \\p{Emoji}',
};

/** A map stays whole where the limit of a check interrupts its use, which a cache with an order of its own does not. */
const kept = new Map<string, RE2Set>();
let keptBytes = 0;

/** `RegExp`, but RE2 tests what is constructed with the flag u alone, as by the validator of schemas: in linear time. */
export const LinearRegExp = new Proxy(RegExp, {
  construct(engine, args: [pattern: string, flags?: string], target) {
    const regExp = Reflect.construct(engine, args, target) as RegExp;
    if (args[1] === 'u') regExp.test = (text) => compiled(args[0]).match(text).length > 0;
    return regExp;
  },
});

/** Returns why `LinearRegExp` cannot test a pattern; undefined if it can. */
export function problemOfPattern(pattern: string): string | undefined {
  if (pattern.length > MAX_LENGTH) return `it has more than ${MAX_LENGTH} characters`;
  try {
    new RegExp(pattern, 'u');
    compiled(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return 'it is no regular expression of ECMA-262 with the flag u';
    if (error instanceof UnsupportedPattern) return error.message;
    throw error;
  }
}

function compiled(pattern: string): RE2Set {
  const known = kept.get(pattern);
  if (known) return known;
  const set = compile(pattern);
  const size = set.prog.numInst();
  if (size > MAX_INSTRUCTIONS) throw new UnsupportedPattern(TOO_LARGE);
  if (keptBytes > MAX_KEPT_BYTES) {
    kept.clear();
    keptBytes = 0;
  }
  kept.set(pattern, set);
  keptBytes += AUTOMATON_BYTES + size * INSTRUCTION_BYTES;
  return set;
}

function compile(pattern: string): RE2Set {
  const set = new RE2Set(RE2Set.UNANCHORED, 0, AUTOMATON_BYTES);
  try {
    set.add(re2Of(pattern));
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const hint = HINTS[error.getDescription()];
    throw new UnsupportedPattern(hint ? `${error.getPattern()} is not supported: ${hint}` : TOO_LARGE);
  }
  set.compile();
  return set;
}
