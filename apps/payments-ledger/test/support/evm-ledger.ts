import { eventually } from '@market/testing';
import { HDKey, mnemonicToAccount } from 'viem/accounts';
import { bytesToHex, type Address } from 'viem';
import { startEvmWorld, type EvmWorld, type TestContract } from './evm-world.js';
import { startLedger, type LedgerWorld, type Offered, type Order } from './ledger-world.js';

export const ON_CHAIN = { originChainId: '31337' };

/** The ledger with its EVM rail on a chain of its own, where `usdc` is USDC. */
export interface EvmLedger {
  chain: EvmWorld;
  ledger: LedgerWorld;
  usdc: Address;
  env: Record<string, string>;
  send(offered: Offered, value: bigint): Promise<unknown>;
  final(): Promise<void>;
  /** Makes the time of offers be over, and waits until it has ended them. */
  end(...offers: Offered[]): Promise<void>;
  /** Has the rail of these offers asked again, and waits until it was. */
  lookAgain(...offers: Offered[]): Promise<void>;
  outcomeOf(order: Order, offered: Offered): Promise<string>;
  /** Micros that the books owe back for a payment, each adjustment with its reason. */
  owed({ offer }: Offered): Promise<[reason: string, micros: string][]>;
  stop(): Promise<void>;
}

export interface EvmLedgerOptions {
  token?: TestContract;
  replicas?: number;
  env?: Record<string, string>;
  /** RPC servers instead of the chain's own. */
  rpcUrls?: (chain: EvmWorld) => string[];
}

export async function startEvmLedger({ token = 'SignedToken', replicas = 1, env: changes = {}, rpcUrls = ({ node }) => [node.url] }: EvmLedgerOptions = {}): Promise<EvmLedger> {
  const chain = await startEvmWorld();
  const usdc = await chain.deploy(token);
  await chain.mint(usdc, chain.payer, 10n ** 15n);
  // What is not final yet, the token's code included, is not there for the rail.
  await chain.node.mine(2);
  const env = {
    PAYMENTS_LEDGER_EVM_XPUB: HDKey.fromMasterSeed(Buffer.alloc(32, 11)).publicExtendedKey,
    PAYMENTS_LEDGER_EVM_RPC_URLS: `eip155:31337=${rpcUrls(chain).join('|')}`,
    PAYMENTS_LEDGER_EVM_USDC: `eip155:31337=${usdc}`,
    PAYMENTS_LEDGER_X402_FACILITATOR_KEY: bytesToHex(mnemonicToAccount(chain.node.mnemonic, { addressIndex: 3 }).getHdKey().privateKey!),
  };
  const ledger = await startLedger({ replicas, env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100', ...env, ...changes } });
  const set = (change: string, offers: Offered[]): Promise<unknown> => ledger.db.inspect(`UPDATE payments_ledger.payments SET ${change} WHERE id = ANY($1)`, [offers.map(({ offer }) => offer.payment_id)]);
  const count = async (condition: string, offers: Offered[]): Promise<number> => (await ledger.db.inspect(`SELECT 1 FROM payments_ledger.payments WHERE ${condition} AND id = ANY($1)`, [offers.map(({ offer }) => offer.payment_id)])).length;
  return {
    chain,
    ledger,
    usdc,
    env,
    send: ({ offer: { requirements } }, value) => (requirements.currency === 'ETH' ? chain.sendCoin(requirements.depositAddress as Address, value) : chain.sendToken(usdc, requirements.depositAddress as Address, value)),
    final: () => chain.node.mine(2),
    async end(...offers) {
      await set("expires_at = now() - interval '1 second'", offers);
      await eventually(async () => expect(await count(`state IN ('pending', 'underpaid')`, offers)).toBe(0), { withinMs: 20_000 });
    },
    async lookAgain(...offers) {
      await set('look_again_at = now()', offers);
      // A look that has begun is noted for five minutes later, one that has ended for any other time.
      await eventually(async () => expect(await count(`(look_again_at <= now() OR look_again_at BETWEEN now() + interval '4 minutes' AND now() + interval '5 minutes')`, offers)).toBe(0), { withinMs: 20_000 });
    },
    outcomeOf: async (order, offered) => (await ledger.claim(order, offered)).outcome,
    async owed({ offer }) {
      const rows = await ledger.db.inspect<{ reason: string; micros: string }>(
        `SELECT t.reason, o.amount_micros::text AS micros FROM payments_ledger.journal_transactions t JOIN payments_ledger.postings o ON o.transaction_id = t.id
         WHERE t.payment_id = $1 AND o.type = 'adjustment' AND o.direction = 'credit' ORDER BY t.sequence`,
        [offer.payment_id],
      );
      return rows.map(({ reason, micros }) => [reason, micros]);
    },
    async stop() {
      await ledger.stop();
      await chain.stop();
    },
  };
}
