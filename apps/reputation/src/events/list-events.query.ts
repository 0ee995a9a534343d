import type { InputOf, OutputOf } from '@market/contracts';
import { type AccountEvent, listEvents, readEvents } from '@market/contracts/reputation';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

// The table is named, because the column of the answer is text, and text is not ordered as numbers are.
const findAfter = sql(
  'account-events.find-after',
  `SELECT e.id::text, e.type, e.at, e.data FROM account_events e
   WHERE e.account_id = $1 AND e.id > $2 ORDER BY e.id OFFSET $3 LIMIT $4`,
);

// Numbers have no gaps, and the oldest are deleted first.
const findHead = sql(
  'account-events.find-head',
  `SELECT h.last_id::text AS latest,
     coalesce(h.last_id - (SELECT min(id) FROM account_events WHERE account_id = $1) + 1, 0)::int AS total
   FROM account_event_heads h WHERE h.account_id = $1`,
);

type EventRow = Omit<AccountEvent, 'at'> & { at: Date };

/** Returns the events of an account in order. A cursor that is ahead of them belongs to another history, and starts over. */
@Injectable()
export class ListEvents {
  constructor(private readonly database: Database) {}

  @HandleRequest(listEvents)
  list(input: InputOf<typeof listEvents>, context: RequestContext): Promise<OutputOf<typeof listEvents>> {
    return this.read({ ...input, accountId: principalOf(context).accountId });
  }

  @HandleRequest(readEvents)
  async read({ accountId, after, page, limit }: InputOf<typeof readEvents>): Promise<OutputOf<typeof readEvents>> {
    const [head = { latest: '0', total: 0 }] = await this.database.query<{ latest: string; total: number }>(findHead, [
      accountId,
    ]);
    if (after === 'now' || after === head.latest) return { ...head, items: [], hasMore: false };
    const from = BigInt(after) > BigInt(head.latest) ? '0' : after;
    const rows = await this.database.query<EventRow>(findAfter, [accountId, from, (page - 1) * limit, limit + 1]);
    return {
      ...head,
      items: rows.slice(0, limit).map((row) => ({ ...row, at: row.at.toISOString() })),
      hasMore: rows.length > limit,
    };
  }
}
