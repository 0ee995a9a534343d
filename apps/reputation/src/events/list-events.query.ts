import type { InputOf, OutputOf } from '@market/contracts';
import type { AccountEvent, listEvents } from '@market/contracts/reputation';
import { principalOf, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const findAfter = sql(
  'account-events.find-after',
  'SELECT id::text, type, at, data FROM account_events WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3',
);

const findLatest = sql(
  'account-events.find-latest',
  'SELECT last_id::text AS latest FROM account_event_heads WHERE account_id = $1',
);

type EventRow = Omit<AccountEvent, 'at'> & { at: Date };

/** Returns the caller's events in order. */
@Injectable()
export class ListEvents {
  constructor(private readonly database: Database) {}

  async execute(
    { after, limit }: InputOf<typeof listEvents>,
    context: RequestContext,
  ): Promise<OutputOf<typeof listEvents>> {
    const { accountId } = principalOf(context);
    if (after === 'now') {
      const [head] = await this.database.query<{ latest: string }>(findLatest, [accountId]);
      return { items: [], hasMore: false, latest: head?.latest ?? '0' };
    }
    const rows = await this.database.query<EventRow>(findAfter, [accountId, after, limit + 1]);
    return {
      items: rows.slice(0, limit).map((row) => ({ ...row, at: row.at.toISOString() })),
      hasMore: rows.length > limit,
    };
  }
}
