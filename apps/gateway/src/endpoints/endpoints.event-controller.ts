import { listingRemoved } from '@market/contracts/catalog';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';

const remove = sql('endpoints.remove', 'DELETE FROM endpoints WHERE listing_id = ANY($1::uuid[])');

/** An endpoint goes with its listing. */
@Controller()
export class EndpointsEventController {
  @HandleEvent(listingRemoved)
  async onListingRemoved(events: ReceivedEvent<typeof listingRemoved>[], tx: Tx): Promise<void> {
    await tx.query(remove, [events.map(({ payload }) => payload.listingId)]);
  }
}
