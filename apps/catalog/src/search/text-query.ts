/** What a text asks for, as PostgreSQL understood it. Each word of a phrase stands so many places behind its first. */
export type TextQuery =
  | { kind: 'word'; lexeme: string }
  | { kind: 'phrase'; words: PhraseWord[] }
  | { kind: 'and'; parts: TextQuery[] }
  | { kind: 'or'; parts: TextQuery[] }
  | { kind: 'not'; part: TextQuery };

export interface PhraseWord {
  lexeme: string;
  place: number;
}

const TOKEN = /\s*(?:'((?:[^'\\]|''|\\.)*)'|(<(?:-|\d+)>)|([&|!()]))/y;

/**
 * Reads what PostgreSQL prints of a tsquery: quoted lexemes under `!`, `<->`, `&` and `|`, the tightest first.
 * @returns undefined for the query without words, which finds nothing.
 */
export function readTextQuery(printed: string): TextQuery | undefined {
  const tokens = tokensOf(printed);
  if (tokens.length === 0) return undefined;
  const reader = new Reader(tokens);
  const query = reader.readOr();
  if (!reader.isDone) throw new Error('PostgreSQL printed a tsquery in a form that is not known');
  return query;
}

/** All phrases of a query. */
export function phrasesIn(query: TextQuery): PhraseWord[][] {
  if (query.kind === 'phrase') return [query.words];
  if (query.kind === 'not') return phrasesIn(query.part);
  return query.kind === 'word' ? [] : query.parts.flatMap(phrasesIn);
}

interface Token {
  text: string;
  lexeme: string | undefined;
}

function tokensOf(printed: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(printed); match; match = TOKEN.exec(printed)) {
    const [whole, lexeme] = match;
    tokens.push({ text: whole.trimStart(), lexeme: lexeme?.replace(/''|\\(.)/gs, (pair, escaped: string | undefined) => escaped ?? pair[0]!) });
    end = TOKEN.lastIndex;
  }
  if (end !== printed.trimEnd().length) throw new Error('PostgreSQL printed a tsquery in a form that is not known');
  return tokens;
}

class Reader {
  private next = 0;

  constructor(private readonly tokens: Token[]) {}

  get isDone(): boolean {
    return this.next === this.tokens.length;
  }

  readOr(): TextQuery {
    return this.readList('or', '|', () => this.readList('and', '&', () => this.readPhrase()));
  }

  private readList(kind: 'and' | 'or', operator: string, readPart: () => TextQuery): TextQuery {
    const parts = [readPart()];
    while (this.takes(operator)) parts.push(readPart());
    return parts.length === 1 ? parts[0]! : { kind, parts };
  }

  /** `'a' <-> 'b' <2> 'c'`, and phrases within phrases, which hyphens make: all one run of words. */
  private readPhrase(): TextQuery {
    const operands = [this.readOperand()];
    const distances: number[] = [];
    for (let operator = this.tokens[this.next]?.text; operator?.startsWith('<'); operator = this.tokens[this.next]?.text) {
      this.next += 1;
      distances.push(operator === '<->' ? 1 : Number(operator.slice(1, -1)));
      operands.push(this.readOperand());
    }
    if (operands.length === 1) return operands[0]!;
    const words: PhraseWord[] = [];
    for (const [index, operand] of operands.entries()) {
      const run = wordsOf(operand);
      // No dictionary of the English configuration offers alternatives within a phrase.
      if (!run) return { kind: 'and', parts: operands };
      const start = index === 0 ? 0 : words.at(-1)!.place + distances[index - 1]!;
      words.push(...run.map(({ lexeme, place }) => ({ lexeme, place: start + place })));
    }
    return { kind: 'phrase', words };
  }

  private readOperand(): TextQuery {
    if (this.takes('!')) return { kind: 'not', part: this.readOperand() };
    if (this.takes('(')) {
      const inner = this.readOr();
      if (!this.takes(')')) throw new Error('PostgreSQL printed a tsquery in a form that is not known');
      return inner;
    }
    const token = this.tokens[this.next++];
    if (token?.lexeme === undefined) throw new Error('PostgreSQL printed a tsquery in a form that is not known');
    return { kind: 'word', lexeme: token.lexeme };
  }

  private takes(operator: string): boolean {
    if (this.tokens[this.next]?.text !== operator) return false;
    this.next += 1;
    return true;
  }
}

function wordsOf(query: TextQuery): PhraseWord[] | undefined {
  if (query.kind === 'word') return [{ lexeme: query.lexeme, place: 0 }];
  return query.kind === 'phrase' ? query.words : undefined;
}
