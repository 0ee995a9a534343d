import type { OutputOf, Principal } from '@market/contracts';
import { sessionEnded, type closeSession } from '@market/contracts/identity';
import { MessageBus } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const end = sql(
  'sessions.end',
  `DELETE FROM sessions WHERE id = $1 AND account_id = $2 RETURNING encode(token_hash, 'hex') AS "keyHash"`,
);

/** Ends the session that the request presents. Ending it twice has no effect. */
@Injectable()
export class CloseSession {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
  ) {}

  async execute({ keyId, accountId }: Principal): Promise<OutputOf<typeof closeSession>> {
    const [ended] = await this.database.query<{ keyHash: string }>(end, [keyId, accountId]);
    if (ended) this.bus.signal(sessionEnded, ended);
    return { ended: true };
  }
}
