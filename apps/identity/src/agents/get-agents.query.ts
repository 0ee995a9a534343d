import type { InputOf, OutputOf } from '@market/contracts';
import { getAgents, type PublicProfile } from '@market/contracts/identity';
import { HandleRequest } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const findPublic = sql(
  'agents.find-public',
  'SELECT id, display_name, avatar_url, account_type, is_verified FROM accounts WHERE id = ANY($1::uuid[])',
);

@Injectable()
export class GetAgents {
  constructor(private readonly database: Database) {}

  @HandleRequest(getAgents)
  async execute({ ids }: InputOf<typeof getAgents>): Promise<OutputOf<typeof getAgents>> {
    return { agents: await this.database.query<PublicProfile>(findPublic, [ids]) };
  }
}
