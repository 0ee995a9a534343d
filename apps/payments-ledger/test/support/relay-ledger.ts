import { newId } from '@market/kernel';
import { inProcessTransport } from '@market/messaging';
import { eventually } from '@market/testing';
import bs58 from 'bs58';
import { randomBytes } from 'node:crypto';
import { startIdentity, type IdentityHarness } from '../../../identity/test/support/identity-harness.js';
import { newOrder, startLedger, type LedgerHarness, type Offered, type Order } from './ledger-harness.js';
import { startRelayServer, type RelayRequest, type RelayServer } from './relay-server.js';

/** A route that pays with ETH on Base. Sellers receive USDC on Base. */
export const BY_ETH = { originChainId: '8453', originCurrency: 'ETH' } as const;
/** In the sandbox this route is its own, too. */
export const BY_SOL = { originCurrency: 'SOL' } as const;
export const SOLANA = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
export const FEE_RECIPIENT = '0x2222222222222222222222222222222222222222';

/** An order of a buyer and a seller that identity knows, each with an EVM wallet. */
export interface RelayOrder extends Order {
  payer: string;
  payout: string;
}

/** The ledger with its Relay rail, an identity service, and a server with Relay's interface. */
export interface RelayLedger {
  relay: RelayServer;
  ledger: LedgerHarness;
  env: Record<string, string>;
  order(changes?: Partial<Order>): Promise<RelayOrder>;
  /** Adds a wallet to an account. */
  addWallet(
    accountId: string,
    chainType: 'evm' | 'solana',
    capabilities?: string[],
  ): Promise<{ id: string; address: string }>;
  /** Makes an offer expire and waits until the ledger has ended it. */
  end(offered: Offered): Promise<void>;
  /** Makes the ledger ask Relay again about an expired offer and waits until it has done so. */
  recheck(offered: Offered): Promise<void>;
  /** Returns the micros that the books owe to the buyer of a payment, each adjustment with its reason. */
  owed(offered: Offered): Promise<[reason: string, micros: string][]>;
  /** Returns Relay's request of an offer. */
  requestOf(offered: Offered): RelayRequest;
  stop(): Promise<void>;
}

export async function startRelayLedger({
  replicas,
  env: changes = {},
}: { replicas?: number; env?: Record<string, string> } = {}): Promise<RelayLedger> {
  const relay = await startRelayServer();
  const transport = inProcessTransport();
  const identity: IdentityHarness = await startIdentity({}, transport);
  const env = {
    PAYMENTS_LEDGER_RELAY_URL: relay.url,
    PAYMENTS_LEDGER_RELAY_API_KEY: relay.apiKey,
    PAYMENTS_LEDGER_RELAY_ROUTES: `eip155:8453:ETH,eip155:42161:USDC=0.005,${SOLANA}:SOL`,
    PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: FEE_RECIPIENT,
    PAYMENTS_LEDGER_RELAY_QUOTES_PER_MINUTE: '1000',
    PAYMENTS_LEDGER_RELAY_STATUSES_PER_MINUTE: '5000',
    PAYMENTS_LEDGER_RELAY_STATUS_INTERVAL_MS: '0',
    PAYMENTS_LEDGER_RELAY_TIMEOUT_MS: '1000',
    ...changes,
  };
  const ledger = await startLedger({ replicas, transport, env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100', ...env } });
  const change = ({ offer }: Offered, changes: string): Promise<unknown> =>
    ledger.db.inspect(`UPDATE payments_ledger.payments SET ${changes} WHERE id = $1`, [offer.payment_id]);
  const holds = async ({ offer }: Offered, condition: string): Promise<boolean> =>
    (
      await ledger.db.inspect(`SELECT 1 FROM payments_ledger.payments WHERE ${condition} AND id = $1`, [
        offer.payment_id,
      ])
    ).length > 0;
  return {
    relay,
    ledger,
    env,
    async order(more) {
      const [buyer, seller] = [await identity.agent(), await identity.agent()];
      const order = newOrder(more);
      return {
        ...order,
        buyer: buyer.id,
        listing: { ...order.listing, sellerId: seller.id },
        payer: buyer.wallet.address,
        payout: seller.wallet.address,
      };
    },
    async addWallet(accountId, chainType, capabilities = ['payer', 'payout']) {
      const wallet = {
        id: newId(),
        address: chainType === 'evm' ? `0x${randomBytes(20).toString('hex')}` : bs58.encode(randomBytes(32)),
      };
      await identity.db.inspect(
        "INSERT INTO identity.wallets (id, account_id, chain_type, address, capabilities, status) VALUES ($1, $2, $3, $4, $5, 'active')",
        [wallet.id, accountId, chainType, wallet.address, capabilities],
      );
      return wallet;
    },
    async end(offered) {
      await change(offered, "expires_at = now() - interval '1 second'");
      await eventually(async () => expect(await holds(offered, `state IN ('pending', 'underpaid')`)).toBe(false), {
        withinMs: 20_000,
      });
    },
    async recheck(offered) {
      await change(offered, 'recheck_at = now()');
      await eventually(async () => expect(await holds(offered, 'recheck_at <= now()')).toBe(false), {
        withinMs: 20_000,
      });
    },
    owed: async ({ offer }) =>
      (
        await ledger.db.inspect<{ reason: string; micros: string }>(
          `SELECT t.reason, o.amount_micros::text AS micros
           FROM payments_ledger.journal_transactions t JOIN payments_ledger.postings o ON o.sequence = t.sequence
           WHERE t.payment_id = $1 AND o.type = 'adjustment' AND o.direction = 'credit' ORDER BY t.sequence`,
          [offer.payment_id],
        )
      ).map(({ reason, micros }) => [reason, micros]),
    requestOf: ({ offer }) => relay.requests.get(offer.relay_request_id)!,
    stop: () =>
      ledger.stop().finally(() => {
        relay.stop();
        return identity.stop();
      }),
  };
}
