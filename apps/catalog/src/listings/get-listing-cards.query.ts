import type { InputOf, OutputOf } from '@market/contracts';
import { getListingCards } from '@market/contracts/catalog';
import { HandleRequest } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

type Cards = OutputOf<typeof getListingCards>;

const byIds = sql(
  'listings.cards',
  `SELECT id, name, slug, delivery_type, provider_id, connection_instructions, auth_method, demo_endpoint
   FROM listings WHERE id = ANY($1::uuid[])`,
);

/** Returns listings in every status, as their subscribers see them. */
@Injectable()
export class GetListingCards {
  constructor(private readonly database: Database) {}

  @HandleRequest(getListingCards)
  async execute({ ids }: InputOf<typeof getListingCards>): Promise<Cards> {
    return { listings: await this.database.query<Cards['listings'][number]>(byIds, [ids]) };
  }
}
