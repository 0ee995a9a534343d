import type { InputOf } from '@market/contracts';
import { listEvents } from '@market/contracts/reputation';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { ListEvents } from './list-events.query.js';

@Controller()
export class EventsMessageController {
  constructor(private readonly listEventsQuery: ListEvents) {}

  @HandleRequest(listEvents)
  listEvents(input: InputOf<typeof listEvents>, context: RequestContext) {
    return this.listEventsQuery.execute(input, context);
  }
}
