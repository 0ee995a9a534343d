import {
  evmWallet,
  formatUsd,
  MarketplaceError,
  sandboxPayer,
  x402Payer,
  type Listing,
  type ListingQuery,
  type Payer,
} from '@market/sdk';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { CommandError, EXIT, print, printable, printJson, sessionOf, type Cli, type Session } from './cli.js';

const price = ({ pricing_model, pricing_amount }: Listing): string =>
  pricing_amount ? `${formatUsd(pricing_amount)} ${pricing_model.replace('_', ' ')}` : 'free';

export const buyerCommands = (cli: Cli): Cli =>
  cli
    .command(
      'search [query]',
      'Finds listings',
      (yargs) =>
        yargs
          .positional('query', { type: 'string', describe: 'Words or a question; the best match comes first' })
          .option('category', { type: 'string' })
          .option('max-price', { type: 'string', describe: 'USD' })
          .option('live', { type: 'boolean', describe: 'Only what works now' })
          .option('min-success', { type: 'number', describe: 'The least success rate of 30 days, from 0 to 1' })
          .option('limit', { type: 'number', default: 20 }),
      async ({ query, category, maxPrice, live, minSuccess, limit, ...options }) => {
        const { market } = await sessionOf(options);
        const filter: ListingQuery = { q: query, category, max_price: maxPrice, live, min_success: minSuccess, limit };
        print(options, (await market.listings.search(filter)).data, {
          listing: ({ slug }) => slug,
          price,
          live: ({ quality }) => quality?.live,
          success: ({ quality }) => quality?.success_rate_30d,
          p50_ms: ({ quality }) => quality?.p50_ms_30d,
          p95_ms: ({ quality }) => quality?.p95_ms_30d,
          rating: ({ rating }) => rating?.average,
          seller: ({ provider }) => provider.display_name ?? provider.id,
          description: ({ description }) => description.slice(0, 60),
        });
      },
    )
    .command(
      'show <listing>',
      'Everything about a listing',
      (yargs) => yargs.positional('listing', { type: 'string', demandOption: true }),
      async ({ listing: name, ...options }) => {
        const listing = await (await sessionOf(options)).market.listings.get(name);
        if (options.json) return printJson(listing);
        const fields = Object.entries(listing).filter(([, value]) => value !== null && String(value) !== '');
        for (const [field, value] of fields) console.log(`${field}: ${printable(value)}`);
      },
    )
    .command(
      'call <listing> [body]',
      'Calls a listing, pays for it and prints the answer',
      (yargs) =>
        yargs
          .positional('listing', { type: 'string', demandOption: true })
          .positional('body', { type: 'string', default: '{}', describe: 'JSON, @file, or @- for standard input' })
          .option('max-price', { type: 'string', describe: 'USD to pay at most; without it you are asked' })
          .option('network', {
            type: 'string',
            array: true,
            default: [] as string[],
            describe: 'Pays USDC on it by a signature of the wallet, for example eip155:8453',
          })
          .option('retries', { type: 'number', default: 0, describe: 'How often a seller that failed is asked again' })
          .option('timeout', { type: 'number', default: 300, describe: 'Seconds, with all waiting' })
          .option('idempotency-key', { type: 'string', describe: 'Repeats what was called under it' }),
      async ({ listing: name, body, maxPrice, network, retries, timeout, idempotencyKey, ...options }) => {
        const session = await sessionOf(options);
        const payload = await bodyFrom(body);
        const listing = await session.market.listings.get(name);
        const result = await session.market.call(listing, payload, {
          pay: payersOf(session, network),
          maxPriceUsd: maxPrice ?? (await agreedPrice(listing)),
          retries,
          timeoutMs: timeout * 1000,
          idempotencyKey,
        });
        printJson(options.json ? result : result.seller_response);
        const charged = formatUsd(result.charged_amount.amount_cents / 100);
        if (!options.json)
          console.error(`charged ${charged}${result.relayRequestId ? ` on ${result.relayRequestId}` : ''}`);
        if (!result.billable)
          throw new CommandError(
            `The seller answered ${result.seller_status_code}; nothing was charged.`,
            EXIT.notDelivered,
          );
      },
    );

async function bodyFrom(argument: string): Promise<object> {
  const read = (file: string): Promise<string> => (file === '-' ? text(process.stdin) : readFile(file, 'utf8'));
  const json = argument.startsWith('@') ? await read(argument.slice(1)) : argument;
  try {
    return JSON.parse(json) as object;
  } catch (cause) {
    throw new CommandError(`The body is not JSON: ${(cause as Error).message}`, EXIT.usage);
  }
}

function payersOf({ market, account }: Session, networks: string[]): Payer[] {
  if (networks.length === 0) return [sandboxPayer(market)];
  if (account?.wallet.chain !== 'evm')
    throw new CommandError('Only the EVM wallet of an account signs payments.', EXIT.notPaid);
  const chains = Object.fromEntries(networks.map((network) => [network, {}]));
  return [x402Payer(evmWallet(account.wallet.key as `0x${string}`), chains)];
}

/** @returns the price in USD, after a person has agreed to it. */
async function agreedPrice(listing: Listing): Promise<number> {
  const { pricing_amount: amount, name } = listing;
  if (!amount) return 0;
  if (!process.stdin.isTTY)
    throw new CommandError(`It costs ${formatUsd(amount)}: agree with --max-price ${amount}`, EXIT.notPaid);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`Call "${name}" for ${formatUsd(amount)}? [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('Nothing was paid.', EXIT.notPaid);
  return amount;
}

/** Whether the failure guarantees that the call was not paid. */
export const isUnpaid = (error: unknown): boolean =>
  error instanceof MarketplaceError && ['PRICE_ABOVE_LIMIT', 'OFFER_REFUSED', 'PAYMENT_REQUIRED'].includes(error.code);
