/** What a text asks for, as PostgreSQL understood it. A phrase needs positions; `lexemes` are those that all its listings have. */
export type TextQuery =
  | { kind: 'word'; lexeme: string }
  | { kind: 'phrase'; tsquery: string; lexemes: string[] }
  | { kind: 'and'; parts: TextQuery[] }
  | { kind: 'or'; parts: TextQuery[] }
  | { kind: 'not'; part: TextQuery };

const TOKEN = /\s*(?:'((?:[^'\\]|''|\\.)*)'|(<(?:-|\d+)>)|([&|!()]))/y;

/**
 * Reads what PostgreSQL prints of a tsquery: quoted lexemes under `!`, `<->`, `&` and `|`, the tightest first.
 * @returns undefined for the query without words, which finds nothing.
 */
export function readTextQuery(printed: string): TextQuery | undefined {
  const tokens = tokensOf(printed);
  if (tokens.length === 0) return undefined;
  const reader = new Reader(printed, tokens);
  const query = reader.readOr();
  if (!reader.isDone) throw new Error('PostgreSQL printed a tsquery in a form that is not known');
  return query;
}

/** All phrases of a query, each as it is written there. */
export function phrasesIn(query: TextQuery): Extract<TextQuery, { kind: 'phrase' }>[] {
  if (query.kind === 'phrase') return [query];
  if (query.kind === 'not') return phrasesIn(query.part);
  return query.kind === 'word' ? [] : query.parts.flatMap(phrasesIn);
}

interface Token {
  text: string;
  lexeme: string | undefined;
  start: number;
  end: number;
}

function tokensOf(printed: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(printed); match; match = TOKEN.exec(printed)) {
    const [whole, lexeme] = match;
    const text = whole.trimStart();
    tokens.push({ text, lexeme: lexeme?.replace(/''|\\(.)/gs, (pair, escaped: string | undefined) => escaped ?? pair[0]!), start: TOKEN.lastIndex - text.length, end: TOKEN.lastIndex });
  }
  if ((tokens.at(-1)?.end ?? 0) !== printed.trimEnd().length) throw new Error('PostgreSQL printed a tsquery in a form that is not known');
  return tokens;
}

class Reader {
  private next = 0;

  constructor(
    private readonly printed: string,
    private readonly tokens: Token[],
  ) {}

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

  /** The whole run from its first operand to its last stays PostgreSQL's to judge. */
  private readPhrase(): TextQuery {
    const first = this.next;
    const operand = this.readOperand();
    if (!this.tokens[this.next]?.text.startsWith('<')) return operand;
    while (this.tokens[this.next]?.text.startsWith('<')) {
      this.next += 1;
      this.readOperand();
    }
    const tokens = this.tokens.slice(first, this.next);
    const needsAll = !tokens.some(({ text }) => text === '|' || text === '!');
    return { kind: 'phrase', tsquery: this.printed.slice(tokens[0]!.start, tokens.at(-1)!.end), lexemes: needsAll ? tokens.flatMap(({ lexeme }) => lexeme ?? []) : [] };
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
