import type { InputOf, OutputOf } from '@market/contracts';
import { closeSession, sessionEnded } from '@market/contracts/identity';
import { HandleRequest, MessageBus, principalOf, type RequestContext } from '@market/messaging';
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

  @HandleRequest(closeSession)
  async execute(_input: InputOf<typeof closeSession>, context: RequestContext): Promise<OutputOf<typeof closeSession>> {
    const { keyId, accountId } = principalOf(context);
    const [ended] = await this.database.query<{ keyHash: string }>(end, [keyId, accountId]);
    if (ended) this.bus.signal(sessionEnded, ended);
    return { ended: true };
  }
}
