import type { OutputOf } from '@market/contracts';
import { listCategories } from '@market/contracts/catalog';
import { HandleRequest } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const all = sql(
  'categories.all',
  'SELECT id, name, slug, description, sort_order FROM categories ORDER BY sort_order, id',
);

const CACHE_TTL_MS = 60_000;

type CategoryView = OutputOf<typeof listCategories>['categories'][number];

/** All categories, in order. They are cached for a minute, because only migrations change them. */
@Injectable()
export class Categories {
  private known: CategoryView[] = [];
  private freshUntil = 0;

  constructor(private readonly database: Database) {}

  @HandleRequest(listCategories)
  async answer(): Promise<OutputOf<typeof listCategories>> {
    return { categories: await this.list() };
  }

  async list(): Promise<CategoryView[]> {
    if (Date.now() >= this.freshUntil) {
      this.known = await this.database.query<CategoryView>(all);
      this.freshUntil = Date.now() + CACHE_TTL_MS;
    }
    return this.known;
  }

  async has(id: string): Promise<boolean> {
    return (await this.list()).some((category) => category.id === id.toLowerCase());
  }
}
