import { listingRemoved } from '@market/contracts/catalog';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { CallEvidence } from '../quality/call-evidence.js';

const remove = sql('endpoints.remove', 'DELETE FROM endpoints WHERE listing_id = ANY($1::uuid[])');
/** An endpoint whose jobs are open is kept for their delivery, for a day at most. */
const findWithJobs = sql(
  'gateway-requests.listings-with-jobs',
  'SELECT DISTINCT listing_id FROM gateway_requests WHERE listing_id = ANY($1::uuid[]) AND job_until IS NOT NULL',
);
const retire = sql(
  'endpoints.retire',
  'UPDATE endpoints SET paused = true, probe_at = NULL, removed_at = now() WHERE listing_id = ANY($1::uuid[])',
);

/** Deletes the endpoint and the evidence of a removed listing. */
@Controller()
export class EndpointsEventController {
  constructor(private readonly evidence: CallEvidence) {}

  @HandleEvent(listingRemoved)
  async onListingRemoved(events: ReceivedEvent<typeof listingRemoved>[], tx: Tx): Promise<void> {
    const listingIds = events.map(({ payload }) => payload.listingId);
    const rows = await tx.query<{ listing_id: string }>(findWithJobs, [listingIds]);
    const withJobs = rows.map(({ listing_id }) => listing_id);
    await tx.query(retire, [withJobs]);
    await tx.query(remove, [listingIds.filter((id) => !withJobs.includes(id))]);
    await this.evidence.forget(tx, listingIds);
  }
}
