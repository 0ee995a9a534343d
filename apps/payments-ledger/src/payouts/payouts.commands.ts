import { formatDecimal, isUuid, parseDecimal, type Micros } from '@market/kernel';
import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { isAddress, isHash, type Address, type Hash } from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { evmChainsOf, type X402Chain } from '../rails/x402/x402-settings.js';
import { ConfirmPayouts, type Confirmation } from './confirm-payouts.use-case.js';
import { ExportPayouts, type ExportedPayout } from './export-payouts.use-case.js';
import { safeBatch } from './safe-batch.js';

const usd = (micros: Micros): string => formatDecimal(micros, 6);

/** `market-admin payouts export`. It changes no balance: a payout is posted when its transaction is confirmed. */
export const exportPayouts: CommandDefinition = {
  name: 'payouts export',
  help:
    'prints what you owe sellers from signed payments, by wallet, as CSV or for the Transaction Builder of a ' +
    'Safe; pays nothing, and leaves out earlier exports that are not confirmed',
  asks: ['identity'],
  options: {
    minimum: { help: 'least amount in US dollars' },
    network: { help: 'one network, as eip155:8453; a file for a Safe is of one' },
    format: { help: 'csv or safe' },
    again: { help: 'a seller, or all: exports what an earlier export named and nobody paid' },
  },
  async run(container, { operator, options: { minimum = '0', network, format = 'csv', again } }) {
    const minimumMicros = parseDecimal(minimum, 6);
    if (minimumMicros === null) throw new CommandFailure('--minimum must be US dollars, as in 1.50');
    if (format !== 'csv' && format !== 'safe') throw new CommandFailure('--format must be csv or safe');
    if (again !== undefined && again !== 'all' && !isUuid(again))
      throw new CommandFailure('--again must be the id of a seller, or all');
    const config = container.get<PaymentsLedgerConfig>(paymentsLedgerConfig.token);
    const chains = config.x402Chains ? evmChainsOf(config.x402Chains, config.x402Usdc) : [];
    const only = network ?? (format === 'safe' && chains.length === 1 ? chains[0]!.network : null);
    if (only !== null && !chains.some((chain) => chain.network === only))
      throw new CommandFailure(`${only} is not among PAYMENTS_LEDGER_X402_CHAINS`);
    if (format === 'safe' && only === null)
      throw new CommandFailure('--network must name one of PAYMENTS_LEDGER_X402_CHAINS for a Safe');
    const by = { operator, command: 'payouts export' };
    const { payouts, open, withoutWallet } = await container
      .get(ExportPayouts)
      .execute({ minimumMicros, network: only, again }, by);
    // These rows have no receiver, so that they cannot be paid by mistake.
    const unpayable = [...open, ...withoutWallet].map((payout) => ({ ...payout, wallet: null }));
    if (format === 'csv') return toCsv([...payouts, ...unpayable], chains);
    const leftOut = [
      ...(open.length > 0 ? [`${open.length} exported before and not confirmed`] : []),
      ...(withoutWallet.length > 0 ? [`${withoutWallet.length} without a wallet`] : []),
    ];
    const { chainId, usdc } = chains.find((chain) => chain.network === only)!;
    const file = safeBatch({
      chainId,
      token: usdc,
      safe: config.x402PayToAddress,
      description: [`What is due to ${payouts.length} sellers`, ...leftOut].join('; left out: '),
      createdAt: new Date(),
      payees: payouts.map(({ wallet, amountMicros: baseUnits }) => ({ wallet, baseUnits })),
    });
    return JSON.stringify(file, null, 2);
  },
};

/** No field holds a comma, a quote or a line end. */
const toCsv = (payouts: (Omit<ExportedPayout, 'wallet'> & { wallet: Address | null })[], chains: X402Chain[]): string =>
  [
    'network,token_address,receiver,amount,seller_id,exported_and_not_confirmed',
    ...payouts.map(({ network, wallet, amountMicros, sellerId, unconfirmedSince }) =>
      [
        network,
        chains.find((chain) => chain.network === network)?.usdc ?? '',
        wallet ?? '',
        usd(amountMicros),
        sellerId,
        unconfirmedSince?.toISOString() ?? '',
      ].join(','),
    ),
  ].join('\n');

/** `market-admin payouts confirm`. */
export const confirmPayouts: CommandDefinition = {
  name: 'payouts confirm',
  help:
    'reads a final transaction of yours on its chain and posts what it paid to exported wallets, each transfer ' +
    'once; ends with 1 if a transfer matches none',
  arguments: ['network', 'transaction'],
  options: { from: { help: 'address of yours that paid, where it is not the one that signed payments pay' } },
  async run(container, { operator, arguments: [network, transaction], options: { from } }) {
    if (!transaction || !isHash(transaction)) throw new CommandFailure('the transaction must be 0x and 64 hex digits');
    if (from !== undefined && !isAddress(from)) throw new CommandFailure('--from must be an EVM address');
    const confirmations = await container
      .get(ConfirmPayouts)
      .execute(network!, transaction.toLowerCase() as Hash, from ? [from] : [], {
        operator,
        command: 'payouts confirm',
      });
    const text = confirmations.map(toLine).join('\n');
    if (confirmations.some(({ outcome }) => outcome === 'unmatched')) throw new CommandFailure(text);
    return text;
  },
};

const toLine = ({ outcome, wallet, amountMicros, sellerId, exportedMicros, dueMicros }: Confirmation): string =>
  [
    outcome,
    wallet,
    usd(amountMicros),
    sellerId ?? '',
    ...why({ outcome, amountMicros, exportedMicros, dueMicros }),
  ].join('\t');

function why({
  outcome,
  amountMicros,
  exportedMicros = amountMicros,
  dueMicros = 0n,
}: Pick<Confirmation, 'outcome' | 'amountMicros' | 'exportedMicros' | 'dueMicros'>): string[] {
  if (outcome === 'unmatched') return ['no payout was exported to this wallet; not posted'];
  if (outcome === 'paid_refund') return ['confirmed as the payment of a refund; not posted'];
  return [
    ...(amountMicros === exportedMicros ? [] : [`exported were ${usd(exportedMicros)}`]),
    ...(dueMicros < 0n ? [`paid ${usd(-dueMicros)} more than was due, which comes off what is due next`] : []),
  ];
}
