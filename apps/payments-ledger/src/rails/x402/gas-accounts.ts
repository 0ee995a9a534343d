import { sql, type Database } from '@market/persistence';

/** Gives the transactions of an account their numbers on a chain. */
export interface Nonces {
  /**
   * Sends a transaction under the next number of the account, while nobody else sends one.
   * @param counted the number of transactions of the account that a server of the chain knows.
   */
  send<T>(
    account: { network: string; address: string },
    counted: () => Promise<number>,
    send: (nonce: number) => Promise<T>,
  ): Promise<T>;
}

/** For an account that this process has to itself, and one server, which knows what it was sent. */
export const countedNonces: Nonces = { send: (_account, counted, send) => counted().then(send) };

/** A transaction that no server knows of after this time is lost, and its number is free again. */
const LOST_AFTER = "interval '1 minute'";

const lock = sql(
  'gas-accounts.lock',
  `INSERT INTO gas_accounts (network, address) VALUES ($1, $2)
   ON CONFLICT (network, address) DO UPDATE SET network = excluded.network
   RETURNING CASE WHEN used_at > now() - ${LOST_AFTER} THEN next_nonce ELSE 0 END AS next_nonce`,
);
const keep = sql(
  'gas-accounts.keep',
  'UPDATE gas_accounts SET next_nonce = $3, used_at = now() WHERE network = $1 AND address = $2',
);

/**
 * The numbers of accounts that several processes use at once, which would otherwise send different transactions under
 * one number. A server of the chain may not know yet what another was sent, so the last number is kept here.
 */
export class GasAccounts implements Nonces {
  constructor(private readonly database: Database) {}

  async send<T>(
    { network, address }: { network: string; address: string },
    counted: () => Promise<number>,
    send: (nonce: number) => Promise<T>,
  ): Promise<T> {
    // What was sent was sent, whether or not its number could be kept.
    let sent: { result: T } | undefined;
    await this.database
      .transaction(async (tx) => {
        const [row] = await tx.query<{ next_nonce: string }>(lock, [network, address]);
        const nonce = Math.max(Number(row!.next_nonce), await counted());
        sent ??= { result: await send(nonce) };
        await tx.query(keep, [network, address, nonce + 1]);
      })
      .catch((error: unknown) => {
        if (!sent) throw error;
      });
    return sent!.result;
  }
}
