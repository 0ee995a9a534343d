import { migrate } from '@market/persistence';
import { createDatabase, withClient } from '@market/testing';
import { reputationDatabase } from '../../src/database.js';

/** The tables of facts, each with one of its columns. */
const FACTS = {
  call_facts: 'buyer_id',
  subscription_facts: 'buyer_id',
  registration_facts: 'account_id',
  wallet_facts: 'account_id',
  claim_facts: 'human_id',
  work_facts: 'account_id',
  reviews: 'reviewer_id',
};

describe('the schema of reputation', () => {
  it('lets the service add facts and neither change nor remove one', async () => {
    const url = await createDatabase();
    await migrate(reputationDatabase, url);
    for (const [table, column] of Object.entries(FACTS)) {
      for (const change of [
        `UPDATE reputation.${table} SET ${column} = gen_random_uuid()`,
        `DELETE FROM reputation.${table}`,
        `TRUNCATE reputation.${table}`,
      ]) {
        const attempt = withClient(url, async (client) => {
          await client.query('SET ROLE market_reputation');
          await client.query(change);
        });
        await expect(attempt).rejects.toThrow('permission denied');
      }
    }
  });
});
