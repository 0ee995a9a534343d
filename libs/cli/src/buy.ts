import {
  evmWallet,
  formatUsd,
  isFile,
  isStream,
  MarketplaceError,
  sandboxPayer,
  x402Payer,
  type AnswerStream,
  type CallJob,
  type CallOptions,
  type CallResult,
  type Listing,
  type ListingQuery,
  type Payer,
  type StreamEvent,
  type StreamResult,
} from '@market/sdk';
import { randomUUID } from 'node:crypto';
import { access, constants, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  agree,
  bodyFrom,
  CommandError,
  EXIT,
  price,
  print,
  printable,
  printFields,
  printJson,
  sessionOf,
  time,
  type Cli,
  type CommonOptions,
  type Session,
} from './cli.js';

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
        printFields(options, await (await sessionOf(options)).market.listings.get(name));
      },
    )
    .command(
      'call <listing> [body]',
      'Calls a listing, pays for it and prints the answer',
      (yargs) =>
        yargs
          .positional('listing', { type: 'string', demandOption: true })
          .positional('body', { type: 'string', default: '{}', describe: 'JSON, @file, or @- for standard input' })
          .option('file', { type: 'string', nargs: 1, describe: 'Sent instead of a JSON body; - is standard input' })
          .option('type', {
            type: 'string',
            default: 'application/octet-stream',
            describe: 'Of the file; multipart/form-data sends a form whose field "file" it is',
          })
          .option('max-price', { type: 'string', describe: 'USD to pay at most; without it you are asked' })
          .option('network', {
            type: 'string',
            array: true,
            default: [] as string[],
            describe: 'Pays USDC on it by a signature of the wallet, for example eip155:8453',
          })
          .option('permit2', {
            type: 'boolean',
            describe: 'The wallet has approved Permit2 there: pays for what was used alone, where a listing says so',
          })
          .option('retries', { type: 'number', default: 0, describe: 'How often a seller that failed is asked again' })
          .option('timeout', { type: 'number', default: 300, describe: 'Seconds, with all waiting but that for a job' })
          .option('output', {
            type: 'string',
            // Otherwise - would be no value.
            nargs: 1,
            describe: 'A file for the answer; - writes the bytes of it alone',
          })
          .option('stream', { type: 'boolean', describe: 'Prints the events of a stream as they come' })
          .conflicts('stream', 'output')
          .option('idempotency-key', { type: 'string', describe: 'Repeats what was called under it' }),
      async ({
        listing: name,
        body,
        file,
        type,
        maxPrice,
        network,
        permit2,
        retries,
        timeout,
        output,
        stream,
        idempotencyKey = randomUUID(),
        ...options
      }) => {
        const session = await sessionOf(options);
        const payload = file === undefined ? await bodyFrom(body) : await fileFrom(file, type);
        if (output !== undefined && output !== '-') await checkWritable(output);
        const listing = await session.market.listings.get(name);
        const terms: CallOptions = {
          pay: payersOf(session, network, permit2),
          maxPriceUsd: maxPrice ?? (await agreedPrice(listing)),
          retries,
          timeoutMs: timeout * 1000,
          idempotencyKey,
        };
        const { market } = session;
        const result = stream
          ? await printEvents(await market.stream(listing, payload, terms), options)
          : await follow(await market.job(listing, payload, terms), idempotencyKey, options);
        const charged = formatUsd(result.charged_amount.amount_cents / 100);
        if (!options.json)
          console.error(`charged ${charged}${result.relayRequestId ? ` on ${result.relayRequestId}` : ''}`);
        if ('rawBody' in result) {
          if (output !== undefined && result.billable) await write(output, result);
          const shown = shownOf(result);
          if (output !== '-') printJson(options.json ? shown : shown.seller_response);
        }
        if (!result.billable)
          throw new CommandError(
            `The seller answered ${result.seller_status_code}; nothing was charged.`,
            EXIT.notDelivered,
          );
      },
    );

/** Prints each event as it comes. @returns what became of the call. */
async function printEvents(
  stream: AnswerStream,
  { json }: CommonOptions,
): Promise<StreamResult & Pick<CallResult, 'relayRequestId'>> {
  const { relayRequestId, idempotencyKey, settlement } = stream;
  for await (const event of stream) console.log(json ? JSON.stringify(event) : linesOf(event));
  const result = { ...(await stream.result()), relayRequestId, idempotencyKey, settlement };
  if (json) console.log(JSON.stringify({ event: 'market.result', data: result }));
  else if (result.outcome === undefined) printJson(result.seller_response);
  return result;
}

/** Waits for the answer, and shows how far its seller is, if it is a job. */
async function follow(job: CallJob<CallResult>, idempotencyKey: string, { json }: CommonOptions): Promise<CallResult> {
  const { isTTY } = process.stderr;
  if (!json && job.requestId !== null)
    console.error(`working on ${job.requestId}; to go on after a break: --idempotency-key ${idempotencyKey}`);
  for await (const { percent, message, deadline } of job) {
    const parts = [percent === null ? 'working' : `${percent} %`, message, `until ${time(deadline.toISOString())}`];
    const line = parts.filter(Boolean).map(printable).join(' · ');
    if (!json) process.stderr.write(isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  }
  if (!json && isTTY && job.requestId !== null) process.stderr.write('\n');
  return job.result();
}

const linesOf = ({ data }: StreamEvent): string =>
  typeof data === 'string' ? data.split('\n').map(printable).join('\n') : printable(data);

/** The answer without the bytes of a file, which `rawBody` contains, too. */
function shownOf({ rawBody, seller_response: answer, ...facts }: CallResult): Partial<CallResult> {
  if (!isFile(answer)) return { ...facts, seller_response: answer, rawBody };
  const { base64: _, ...file } = answer;
  return { ...facts, seller_response: file };
}

/** An answer that is paid for must not be lost for the name of a file. */
async function checkWritable(output: string): Promise<void> {
  await access(dirname(output), constants.W_OK).catch((cause: Error) => {
    throw new CommandError(`${output} cannot be written: ${cause.message}`, EXIT.usage);
  });
}

/** Writes the bytes of a file or stream, and any other answer as JSON. */
async function write(output: string, result: CallResult): Promise<void> {
  const { seller_response: answer } = result;
  const bytes = isFile(answer) || isStream(answer) ? await result.bytes() : `${JSON.stringify(answer, null, 2)}\n`;
  if (output === '-') process.stdout.write(bytes);
  else await writeFile(output, bytes);
}

async function fileFrom(file: string, type: string): Promise<Blob | FormData> {
  const bytes = file === '-' ? await buffer(process.stdin) : await readFile(file);
  if (type !== 'multipart/form-data') return new Blob([new Uint8Array(bytes)], { type });
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(bytes)]), basename(file));
  return form;
}

function payersOf({ market, account }: Session, networks: string[], permit2?: boolean): Payer[] {
  if (networks.length === 0) return [sandboxPayer(market)];
  if (account?.wallet.chain !== 'evm')
    throw new CommandError('Only the EVM wallet of an account signs payments.', EXIT.notPaid);
  const chains = Object.fromEntries(networks.map((network) => [network, { permit2 }]));
  return [x402Payer(evmWallet(account.wallet.key as `0x${string}`), chains)];
}

/** @returns the price in USD, after a person has agreed to it. */
async function agreedPrice(listing: Listing): Promise<number> {
  const { pricing_amount: amount, name } = listing;
  if (!amount) return 0;
  await agree(`Call "${name}" for ${formatUsd(amount)}?`, `--max-price ${amount}`, EXIT.notPaid);
  return amount;
}

/** Whether the failure guarantees that the call was not paid. */
export const isUnpaid = (error: unknown): boolean =>
  error instanceof MarketplaceError && ['PRICE_ABOVE_LIMIT', 'OFFER_REFUSED', 'PAYMENT_REQUIRED'].includes(error.code);
