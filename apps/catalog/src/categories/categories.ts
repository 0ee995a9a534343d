import type { OutputOf } from '@market/contracts';
import type { listCategories } from '@market/contracts/catalog';
import { Database, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const all = sql('categories.all', 'SELECT id, name, slug, description, sort_order FROM categories ORDER BY sort_order, id');

const FRESH_FOR_MS = 60_000;

type CategoryView = OutputOf<typeof listCategories>['categories'][number];

/** All categories, in order. Only migrations change them, so they are read once a minute at most. */
@Injectable()
export class Categories {
  private known: CategoryView[] = [];
  private freshUntil = 0;

  constructor(private readonly database: Database) {}

  async list(reader: Pick<Tx, 'query'> = this.database): Promise<CategoryView[]> {
    if (Date.now() >= this.freshUntil) {
      this.known = await reader.query<CategoryView>(all);
      this.freshUntil = Date.now() + FRESH_FOR_MS;
    }
    return this.known;
  }

  /** As others name it; null for none. */
  async ref(tx: Tx, id: string | null): Promise<Pick<CategoryView, 'id' | 'name' | 'slug'> | null> {
    const category = (await this.list(tx)).find((each) => each.id === id);
    return category ? { id: category.id, name: category.name, slug: category.slug } : null;
  }

  async has(id: string): Promise<boolean> {
    return (await this.list()).some((category) => category.id === id.toLowerCase());
  }
}
