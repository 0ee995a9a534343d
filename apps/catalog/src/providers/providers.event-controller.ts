import { agentRegistered } from '@market/contracts/identity';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import type { Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { Providers } from './providers.js';

@Controller()
export class ProvidersEventController {
  constructor(private readonly providers: Providers) {}

  @HandleEvent(agentRegistered)
  async onAgentRegistered(events: ReceivedEvent<typeof agentRegistered>[], tx: Tx): Promise<void> {
    await this.providers.keep(
      tx,
      events.map((event) => event.payload.agent),
    );
  }
}
