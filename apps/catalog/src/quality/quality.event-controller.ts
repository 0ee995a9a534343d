import { listingQualityMeasured } from '@market/contracts/gateway';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import type { Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { Quality } from './quality.js';

@Controller()
export class QualityEventController {
  constructor(private readonly quality: Quality) {}

  @HandleEvent(listingQualityMeasured)
  async onListingQualityMeasured(events: ReceivedEvent<typeof listingQualityMeasured>[], tx: Tx): Promise<void> {
    await this.quality.project(tx, events);
  }
}
