import { endpointChanged } from '@market/contracts/gateway';
import { HandleEvent, newRequestContext, type ReceivedEvent } from '@market/messaging';
import type { Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { Endpoints } from '../endpoints/endpoints.js';
import { Quality } from '../quality/quality.js';
import { ListingChanges } from './listing-changes.js';
import { ListingsRepository } from './listings.repository.js';

@Controller()
export class EndpointHealthEventController {
  constructor(
    private readonly endpoints: Endpoints,
    private readonly quality: Quality,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
  ) {}

  /** Reactivates a listing that was suspended because its endpoint failed, once the endpoint recovers. */
  @HandleEvent(endpointChanged)
  async onEndpointChanged(events: ReceivedEvent<typeof endpointChanged>[], tx: Tx): Promise<void> {
    await this.listings.lockAll(
      tx,
      events.map(({ payload }) => payload.listingId),
    );
    const working = await this.endpoints.project(tx, events);
    await this.quality.rank(
      tx,
      events.map(({ payload }) => payload.listingId),
    );
    const context = newRequestContext({ requestId: events[0]!.requestId });
    for (const listingId of working) await this.changes.react(tx, listingId, 'resume', context);
  }
}
