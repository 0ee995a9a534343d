import { newId, type Micros } from '@market/kernel';
import { Database, recordOperatorAction, sql, type Tx } from '@market/persistence';
import { CommandFailure } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import { isAddressEqual, type Address, type Hash } from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { Journal } from '../journal/journal.js';
import { paidOut } from '../journal/posting.js';
import { lockTransaction, transfersIn, type TokenTransfer } from '../rails/x402/token-transfers.js';
import { evmChainsOf } from '../rails/x402/x402-settings.js';

interface ExportedWallet {
  wallet: string;
  seller_id: string;
  amount_micros: string;
}

/** The exported wallets, found by their addresses in lower case. */
const exported = sql(
  'payout-wallets.find',
  'SELECT wallet, seller_id, amount_micros FROM payout_wallets WHERE network = $1 AND lower(wallet) = ANY($2::text[])',
);
const insert = sql(
  'payouts.insert',
  `INSERT INTO payouts (id, seller_id, network, wallet, transaction_hash, log_index, amount_micros, confirmed_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT ON CONSTRAINT payouts_transfer_once DO NOTHING RETURNING id`,
);
const isRefund = sql(
  'refunds.has-transfer',
  'SELECT EXISTS (SELECT 1 FROM refunds WHERE network = $1 AND transaction_hash = $2 AND log_index = $3) AS found',
);
const now = sql('payouts.now', 'SELECT clock_timestamp() AS at');
const balance = sql('payouts.due', 'SELECT balance_micros FROM balances WHERE address = $1');

/** The result for one transfer of the transaction. */
export interface Confirmation {
  outcome: 'paid' | 'already_confirmed' | 'paid_refund' | 'unmatched';
  wallet: Address;
  amountMicros: Micros;
  sellerId?: string;
  /** The amount in the last export. */
  exportedMicros?: Micros;
  /** What is due to the seller after the transfer. It is negative if the seller was paid more than was due. */
  dueMicros?: Micros;
}

/**
 * Posts the payouts in one transaction of the operator, transfer by transfer, as the chain logged them. A transfer is
 * identified by network, transaction and log index, so it is posted once even if several processes confirm it
 * repeatedly.
 */
@Injectable()
export class ConfirmPayouts {
  constructor(
    private readonly database: Database,
    private readonly journal: Journal,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /**
   * @param payers addresses of the operator in addition to those of its variables.
   * @throws CommandFailure while the chain does not give a final result of the transaction.
   */
  async execute(
    network: string,
    transaction: Hash,
    payers: Address[],
    { operator, command }: { operator: string; command: string },
  ): Promise<Confirmation[]> {
    const transfers = await this.ownTransfers(network, transaction, payers);
    return this.database.transaction(async (tx) => {
      await lockTransaction(tx, transaction);
      const wallets = new Map(
        (await tx.query<ExportedWallet>(exported, [network, transfers.map(({ to }) => to.toLowerCase())])).map(
          (row) => [row.wallet.toLowerCase(), row],
        ),
      );
      const confirmations: Confirmation[] = [];
      for (const transfer of transfers)
        confirmations.push(
          await this.confirm(tx, { network, transaction, transfer }, wallets.get(transfer.to.toLowerCase())),
        );
      const paid = confirmations.filter(({ outcome }) => outcome === 'paid').length;
      const reason = `${paid} of ${transfers.length} transfers posted`;
      await recordOperatorAction(tx, { operator, command, subject: `${network} ${transaction}`, reason });
      return confirmations;
    });
  }

  private async confirm(
    tx: Tx,
    { network, transaction, transfer }: { network: string; transaction: Hash; transfer: TokenTransfer },
    payee: ExportedWallet | undefined,
  ): Promise<Confirmation> {
    // USDC has six decimals, so its base units are micros. One USDC counts as one dollar.
    const amountMicros = transfer.baseUnits;
    const found = { wallet: transfer.to, amountMicros };
    if (!payee) return { ...found, outcome: 'unmatched' };
    const { seller_id: sellerId, wallet } = payee;
    const [{ at }] = (await tx.query<{ at: Date }>(now)) as [{ at: Date }];
    const payoutId = newId(at.getTime());
    const { logIndex } = transfer;
    const [refund] = await tx.query<{ found: boolean }>(isRefund, [network, transaction, logIndex]);
    if (refund!.found) return { ...found, outcome: 'paid_refund' };
    const values = [payoutId, sellerId, network, wallet, transaction, logIndex, amountMicros, at];
    const [inserted] = await tx.query<{ id: string }>(insert, values);
    if (!inserted) return { ...found, sellerId, outcome: 'already_confirmed' };
    const entry = paidOut({ payoutId, sellerId, rail: 'x402', network, wallet, amountMicros });
    const payout = {
      id: payoutId,
      seller_id: sellerId,
      network,
      wallet,
      transaction_hash: transaction,
      log_index: logIndex,
      amount_micros: amountMicros,
      confirmed_at: at,
    };
    this.journal.record(tx, [{ entry, payout }], at);
    const [due] = await tx.query<{ balance_micros: string }>(balance, [entry.postings[0]!.account.address]);
    return {
      ...found,
      sellerId,
      outcome: 'paid',
      exportedMicros: BigInt(payee.amount_micros),
      dueMicros: BigInt(due!.balance_micros),
    };
  }

  /** Returns the transfers of USDC from addresses of the operator. */
  private async ownTransfers(network: string, transaction: Hash, payers: Address[]): Promise<TokenTransfer[]> {
    const { x402Chains, x402Usdc, x402PayToAddress, feeAddress, x402RpcTimeoutMs } = this.config;
    const chain = x402Chains && evmChainsOf(x402Chains, x402Usdc).find((known) => known.network === network);
    if (!chain) throw new CommandFailure(`${network} is not among PAYMENTS_LEDGER_X402_CHAINS`);
    const own = [x402PayToAddress, feeAddress, ...payers].filter((address) => address !== undefined);
    const found = await transfersIn(transaction, chain, x402RpcTimeoutMs).catch((error: Error) => {
      throw new CommandFailure(`what ${transaction} did is not known: ${error.message}`);
    });
    if (found.state !== 'final') throw new CommandFailure(`${transaction} ${WHY[found.state]}; nothing was posted`);
    const sent = found.transfers.filter(
      ({ from, baseUnits }) => baseUnits > 0n && own.some((address) => isAddressEqual(address, from)),
    );
    if (sent.length === 0)
      throw new CommandFailure(
        `${transaction} transferred no USDC from an address of yours (${own.join(', ') || 'none is configured'}); --from names others`,
      );
    return sent;
  }
}

const WHY = {
  unknown: 'is in no block yet',
  reverted: 'was undone by the chain and paid nobody',
  not_final: 'is in a block that is not final yet; ask again in some minutes',
};
