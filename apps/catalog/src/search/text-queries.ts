import { Database, GroupCommit, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { readTextQuery, type TextQuery } from './text-query.js';

/**
 * websearch_to_tsquery takes whatever people type. English stemming serves the language that most listings are written in
 * ("translations" finds "translator"), and other languages keep their whole words; `simple` would give both only the latter.
 */
const parse = sql('listing-search.parse', `SELECT websearch_to_tsquery('pg_catalog.english', q)::text AS query FROM unnest($1::text[]) WITH ORDINALITY AS texts (q, place) ORDER BY place`);

const MOST_REMEMBERED = 5_000;

/** What texts mean: the same for ever, so that those asked lately are remembered. */
@Injectable()
export class TextQueries {
  private readonly remembered = new LRUCache<string, { query: TextQuery | undefined }>({ max: MOST_REMEMBERED });
  private readonly asked = new GroupCommit<string, TextQuery | undefined>((texts) => this.ask(texts));

  constructor(private readonly database: Database) {}

  /** Queries: 1 for a text that is not remembered, shared with others. @returns undefined for one without words to search for. */
  async read(text: string): Promise<TextQuery | undefined> {
    const known = this.remembered.get(text);
    return known ? known.query : this.asked.submit(text);
  }

  private async ask(texts: string[]): Promise<(TextQuery | undefined)[]> {
    const rows = await this.database.query<{ query: string }>(parse, [texts]);
    const queries = rows.map(({ query }) => readTextQuery(query));
    queries.forEach((query, index) => this.remembered.set(texts[index]!, { query }));
    return queries;
  }
}
