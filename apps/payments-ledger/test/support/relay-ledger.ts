import { newId } from '@market/kernel';
import { inProcessTransport } from '@market/messaging';
import bs58 from 'bs58';
import { randomBytes } from 'node:crypto';
import { startIdentity, type IdentityWorld } from '../../../identity/test/support/identity-world.js';
import { newOrder, startLedger, type LedgerWorld, type Offered, type Order } from './ledger-world.js';
import { onChainOffers, type OnChainOffers } from './on-chain-offers.js';
import { startRelayServer, type RelayRequest, type RelayServer } from './relay-server.js';

/** ETH on Base, which sellers get as USDC on Base. */
export const BY_ETH = { originChainId: '8453', originCurrency: 'ETH' } as const;
export const SOLANA = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
export const FEE_RECIPIENT = '0x2222222222222222222222222222222222222222';

/** An order of a buyer and a seller who are known to identity, each with an EVM wallet. */
export interface RelayOrder extends Order {
  payer: string;
  payout: string;
}

/** The ledger with its Relay rail, beside identity and a server that speaks as Relay does. */
export interface RelayLedger extends OnChainOffers {
  relay: RelayServer;
  ledger: LedgerWorld;
  env: Record<string, string>;
  order(changes?: Partial<Order>): Promise<RelayOrder>;
  /** Gives an account one more wallet. */
  addWallet(accountId: string, chainType: 'evm' | 'solana', capabilities?: string[]): Promise<{ id: string; address: string }>;
  /** What Relay knows of an offer. */
  requestOf(offered: Offered): RelayRequest;
  stop(): Promise<void>;
}

export async function startRelayLedger({ replicas, env: changes = {} }: { replicas?: number; env?: Record<string, string> } = {}): Promise<RelayLedger> {
  const relay = await startRelayServer();
  const transport = inProcessTransport();
  const identity: IdentityWorld = await startIdentity({}, transport);
  const env = {
    PAYMENTS_LEDGER_RELAY_URL: relay.url,
    PAYMENTS_LEDGER_RELAY_API_KEY: relay.apiKey,
    PAYMENTS_LEDGER_RELAY_ROUTES: `eip155:8453:ETH,eip155:42161:USDC=0.005,${SOLANA}:SOL`,
    PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: FEE_RECIPIENT,
    PAYMENTS_LEDGER_RELAY_QUOTES_PER_MINUTE: '1000',
    PAYMENTS_LEDGER_RELAY_STATUSES_PER_MINUTE: '5000',
    PAYMENTS_LEDGER_RELAY_TIMEOUT_MS: '500',
    ...changes,
  };
  const ledger = await startLedger({ replicas, transport, env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100', ...env } });
  return {
    relay,
    ledger,
    env,
    ...onChainOffers(ledger),
    async order(more) {
      const [buyer, seller] = [await identity.agent(), await identity.agent()];
      const order = newOrder(more);
      return { ...order, buyer: buyer.id, listing: { ...order.listing, sellerId: seller.id }, payer: buyer.wallet.address, payout: seller.wallet.address };
    },
    async addWallet(accountId, chainType, capabilities = ['payer', 'payout']) {
      const wallet = { id: newId(), address: chainType === 'evm' ? `0x${randomBytes(20).toString('hex')}` : bs58.encode(randomBytes(32)) };
      await identity.db.inspect("INSERT INTO identity.wallets (id, account_id, chain_type, address, capabilities, status) VALUES ($1, $2, $3, $4, $5, 'active')", [wallet.id, accountId, chainType, wallet.address, capabilities]);
      return wallet;
    },
    requestOf: ({ offer }) => relay.requests.get(offer.relay_request_id)!,
    async stop() {
      await ledger.stop();
      await identity.stop();
      relay.stop();
    },
  };
}
