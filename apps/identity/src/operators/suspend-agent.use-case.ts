import type { InputOf, OutputOf } from '@market/contracts';
import { agentSuspensionChanged, suspendAgent } from '@market/contracts/identity';
import { HandleRequest, newRequestContext, operatorOf, refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, recordOperatorAction, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const lock = sql(
  'operators.lock-agent',
  `SELECT id, display_name, suspended_at IS NOT NULL AS is_suspended FROM accounts WHERE id = $1 AND account_type = 'agent' FOR UPDATE`,
);
const change = sql(
  'operators.change-suspension',
  `UPDATE accounts SET suspended_at = CASE WHEN $2 THEN now() END, suspension_version = suspension_version + 1 WHERE id = $1
   RETURNING suspension_version AS version`,
);

type Suspension = OutputOf<typeof suspendAgent>;

/**
 * Suspends or releases an agent for an operator. Within a second its keys and wallets are refused. The catalog receives
 * an event and suspends or resumes the agent's listings.
 */
@Injectable()
export class SuspendAgent {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  /** Nothing is recorded if nothing changes. */
  @HandleRequest(suspendAgent)
  execute({ agentId, suspended, reason }: InputOf<typeof suspendAgent>, context: RequestContext): Promise<Suspension> {
    const operator = operatorOf(context);
    return this.database.transaction(async (tx) => {
      const [agent] = await tx.query<Omit<Suspension, 'changed'>>(lock, [agentId]);
      if (!agent) throw refuse(suspendAgent, 'agent_not_found', {});
      if (agent.is_suspended === suspended) return { ...agent, changed: false };
      const [row] = await tx.query<{ version: number }>(change, [agentId, suspended]);
      await recordOperatorAction(tx, {
        operator,
        command: suspended ? 'agent suspend' : 'agent release',
        subject: agentId,
        reason,
      });
      const changedAt = new Date().toISOString();
      this.outbox.add(
        tx,
        agentSuspensionChanged,
        { agentId, version: row!.version, isSuspended: suspended, changedAt },
        newRequestContext(),
      );
      return { ...agent, is_suspended: suspended, changed: true };
    });
  }
}
