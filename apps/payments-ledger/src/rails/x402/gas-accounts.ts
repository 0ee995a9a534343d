import { sql, type Database } from '@market/persistence';

/** Gives the transactions of an account their numbers on a chain. */
export interface Nonces {
  /**
   * Sends a transaction under the next number of the account, while nobody else sends one.
   * @param count the number of transactions of the account that a server of the chain knows.
   */
  send<T>(
    account: { network: string; address: string },
    count: () => Promise<number>,
    send: (nonce: number) => Promise<T>,
  ): Promise<T>;
}

/** For an account that this process has to itself, and one server, which knows what it was sent. */
export const countedNonces: Nonces = { send: (_account, count, send) => count().then(send) };

const lock = sql(
  'gas-accounts.lock',
  `INSERT INTO gas_accounts (network, address) VALUES ($1, $2)
   ON CONFLICT (network, address) DO UPDATE SET network = excluded.network
   RETURNING next_nonce::int, counted::int, counted_since < now() - interval '1 minute' AS is_old`,
);
const keep = sql(
  'gas-accounts.keep',
  `UPDATE gas_accounts SET next_nonce = greatest(next_nonce, $3), counted = $4,
     counted_since = CASE WHEN counted = $4 THEN counted_since ELSE now() END
   WHERE network = $1 AND address = $2`,
);

/**
 * The numbers of accounts that several processes use at once, which would otherwise send different transactions under
 * one number. A server of the chain may not know yet what another was sent, so the next number is kept here.
 */
export class GasAccounts implements Nonces {
  constructor(private readonly database: Database) {}

  async send<T>(
    { network, address }: { network: string; address: string },
    count: () => Promise<number>,
    send: (nonce: number) => Promise<T>,
  ): Promise<T> {
    // What was sent was sent, whether or not its number could be kept.
    let sent: { nonce: number; counted: number; result: T } | undefined;
    await this.database
      .transaction(async (tx) => {
        const [row] = await tx.query<{ next_nonce: number; counted: number; is_old: boolean }>(lock, [
          network,
          address,
        ]);
        const counted = await count();
        // A count that does not change although more was sent lacks a transaction that was lost.
        const isLost = counted === row!.counted && row!.is_old;
        const nonce = isLost ? counted : Math.max(counted, row!.next_nonce);
        sent ??= { nonce, counted, result: await send(nonce) };
        await tx.query(keep, [network, address, sent.nonce + 1, sent.counted]);
      })
      .catch((error: unknown) => {
        if (!sent) throw error;
      });
    return sent!.result;
  }
}
