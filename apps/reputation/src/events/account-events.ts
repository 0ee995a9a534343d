import { eventsAdded, type EventType } from '@market/contracts/reputation';
import { MessageBus } from '@market/messaging';
import { sql, withParameters, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

export interface NewEvent {
  accountId: string;
  type: EventType;
  /** ISO 8601. */
  at: string;
  data: Record<string, unknown>;
}

/**
 * An account's events are numbered consecutively. The row with the last number stays locked until the commit, so that
 * events become visible in the order of their numbers. A reader therefore never misses an event that is committed
 * later.
 */
const add = withParameters(
  { added: 'account_id uuid, place int, type text, at timestamptz, data jsonb' },
  ({ added }) =>
    sql(
      'account-events.add',
      `WITH added AS MATERIALIZED (SELECT * FROM ${added.table}),
       heads AS (
         INSERT INTO account_event_heads AS known (account_id, last_id)
         SELECT account_id, count(*) FROM added GROUP BY account_id ORDER BY account_id
         ON CONFLICT (account_id) DO UPDATE SET last_id = known.last_id + excluded.last_id
         RETURNING account_id, last_id
       )
       INSERT INTO account_events (account_id, id, type, at, data)
       SELECT account_id, last_id - count(*) OVER (PARTITION BY account_id) + row_number() OVER (PARTITION BY account_id ORDER BY place),
         type, at, data
       FROM added JOIN heads USING (account_id)`,
    ),
);

/** Stores events of accounts, for `GET /events`. */
@Injectable()
export class AccountEvents {
  constructor(private readonly bus: MessageBus) {}

  /**
   * Must be the last statement of its transaction before that of the outbox, because it locks the accounts' numbers
   * until the commit.
   */
  async add(tx: Tx, events: NewEvent[]): Promise<void> {
    if (events.length === 0) return;
    const rows = events.map(({ accountId, type, at, data }, place) => ({
      account_id: accountId,
      place,
      type,
      at,
      data: JSON.stringify(data),
    }));
    await tx.query(add, add.values({ added: rows }));
    const accountIds = [...new Set(events.map(({ accountId }) => accountId))];
    tx.afterCommit(() => this.bus.signal(eventsAdded, { accountIds }));
  }
}
