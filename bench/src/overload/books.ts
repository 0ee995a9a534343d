import pg from 'pg';

/** The state of all calls in the ledger, read after the last of them has ended. */
const BOOKS = `SELECT count(*) FILTER (WHERE p.state = 'completed')::int AS charged,
    count(*) FILTER (WHERE p.charges > 1 OR (p.charges = 1) <> (p.state = 'completed'))::int AS wrongly,
    count(*) FILTER (WHERE p.state = 'completed' AND g.result_json IS NULL)::int AS unanswered,
    (SELECT sum(balance_micros) FROM payments_ledger.balances)::text AS balance
  FROM (SELECT p.state, p.gateway_request_id,
          (SELECT count(*) FROM payments_ledger.journal_transactions t WHERE t.payment_id = p.id AND t.reason = 'call_completed') AS charges
        FROM payments_ledger.payments p WHERE p.purpose = 'call') p
  LEFT JOIN gateway.gateway_requests g ON g.id = p.gateway_request_id`;

/** @param delivered the calls that were answered to a client. */
export async function printBooks(databaseUrl: string, delivered: number): Promise<void> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query<{ charged: number; wrongly: number; unanswered: number; balance: string }>(
      BOOKS,
    );
    const { charged, wrongly, unanswered, balance } = rows[0]!;
    console.log(
      `books: ${delivered} calls answered, ${charged} charged; ${wrongly} not exactly once, ${unanswered} without ` +
        `an answer; the sum of all balances is ${balance}`,
    );
  } finally {
    await database.end();
  }
}
