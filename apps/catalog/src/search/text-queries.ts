import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { readTextQuery, type TextQuery } from './text-query.js';

/**
 * websearch_to_tsquery takes whatever people type. English stemming serves the language that most listings are written in
 * ("translations" finds "translator"), and other languages keep their whole words; `simple` would give both only the latter.
 */
const parse = sql('listing-search.parse', `SELECT websearch_to_tsquery('pg_catalog.english', $1)::text AS query`);

const MOST_REMEMBERED = 5_000;

/** What texts mean: the same for ever, so that those asked lately are remembered. */
@Injectable()
export class TextQueries {
  private readonly remembered = new Map<string, TextQuery | undefined>();

  constructor(private readonly database: Database) {}

  /** Queries: 1 for a text that is not remembered. @returns undefined for one without words to search for. */
  async read(text: string): Promise<TextQuery | undefined> {
    if (this.remembered.has(text)) return this.remembered.get(text);
    const [row] = await this.database.query<{ query: string }>(parse, [text]);
    const query = readTextQuery(row!.query);
    if (this.remembered.size >= MOST_REMEMBERED) this.remembered.delete(this.remembered.keys().next().value!);
    this.remembered.set(text, query);
    return query;
  }
}
