import { listingRemoved } from '@market/contracts/catalog';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { CallEvidence } from '../quality/call-evidence.js';

const remove = sql('endpoints.remove', 'DELETE FROM endpoints WHERE listing_id = ANY($1::uuid[])');

/** Deletes the endpoint and the evidence of a removed listing. */
@Controller()
export class EndpointsEventController {
  constructor(private readonly evidence: CallEvidence) {}

  @HandleEvent(listingRemoved)
  async onListingRemoved(events: ReceivedEvent<typeof listingRemoved>[], tx: Tx): Promise<void> {
    const listingIds = events.map(({ payload }) => payload.listingId);
    await tx.query(remove, [listingIds]);
    await this.evidence.forget(tx, listingIds);
  }
}
