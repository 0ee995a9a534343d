import { agentSuspensionChanged } from '@market/contracts/identity';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';

const keep = sql(
  'account-suspensions.keep',
  `INSERT INTO account_suspensions AS s (account_id, version, is_suspended) VALUES ($1, $2, $3)
   ON CONFLICT (account_id) DO UPDATE SET version = excluded.version, is_suspended = excluded.is_suspended
   WHERE s.version < excluded.version`,
);

/** Nothing is sent to the webhooks of an account while an operator has suspended it. */
@Controller()
export class WebhooksEventController {
  @HandleEvent(agentSuspensionChanged)
  async onAgentSuspensionChanged(events: ReceivedEvent<typeof agentSuspensionChanged>[], tx: Tx): Promise<void> {
    const byAccount = events.toSorted((a, b) => a.payload.agentId.localeCompare(b.payload.agentId));
    for (const { payload } of byAccount) await tx.query(keep, [payload.agentId, payload.version, payload.isSuspended]);
  }
}
