const [QUOTE, BACKSLASH, COLON, COMMA, ZERO, NINE] = [39, 92, 58, 44, 48, 57];

export interface LexemeVisitor {
  /** The lexeme stands from `start` to `end` of `text`; its positions follow. */
  lexeme(text: string, start: number, end: number): void;
  position(position: number): void;
}

/** Reads what PostgreSQL prints of a tsvector, `'word':1A,5 'other':2`; weights are passed over. */
export function readTsvector(printed: string, visitor: LexemeVisitor): void {
  for (let at = 0; at < printed.length; at += 1) {
    const start = at + 1;
    let isEscaped = false;
    for (at = start; ; at += 1) {
      const code = printed.charCodeAt(at);
      if (code === BACKSLASH || (code === QUOTE && printed.charCodeAt(at + 1) === QUOTE)) {
        isEscaped = true;
        at += 1;
      } else if (code === QUOTE) break;
    }
    if (isEscaped) {
      const lexeme = printed.slice(start, at).replace(/''|\\(.)/gs, (pair, escaped: string | undefined) => escaped ?? pair[0]!);
      visitor.lexeme(lexeme, 0, lexeme.length);
    } else visitor.lexeme(printed, start, at);
    at += 1;
    while (printed.charCodeAt(at) === COLON || printed.charCodeAt(at) === COMMA) {
      let position = 0;
      for (at += 1; isDigit(printed.charCodeAt(at)); at += 1) position = position * 10 + printed.charCodeAt(at) - ZERO;
      // One letter at most says the weight.
      if (isLetter(printed.charCodeAt(at))) at += 1;
      visitor.position(position);
    }
  }
}

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;
const isLetter = (code: number): boolean => code >= 65 && code <= 68;
