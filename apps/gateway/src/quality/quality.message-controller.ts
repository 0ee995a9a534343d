import type { InputOf } from '@market/contracts';
import { getCallsOverview, getListingQuality } from '@market/contracts/gateway';
import { HandleRequest, operatorOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { ListingQualityQuery } from './listing-quality.query.js';

@Controller()
export class QualityMessageController {
  constructor(private readonly quality: ListingQualityQuery) {}

  @HandleRequest(getListingQuality)
  getListingQuality(input: InputOf<typeof getListingQuality>) {
    return this.quality.byDay(input);
  }

  @HandleRequest(getCallsOverview)
  getCallsOverview(_input: InputOf<typeof getCallsOverview>, context: RequestContext) {
    operatorOf(context);
    return this.quality.ofAll();
  }
}
