import { formatCents, formatUsd } from '@market/sdk';
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { CommandError, print, printable, printJson, sessionOf, time, type Cli } from './cli.js';
import { changeConfig } from './config.js';

export const bookCommands = (cli: Cli): Cli =>
  cli
    .command(
      'receipts',
      'What was paid for, newest first',
      (yargs) =>
        yargs
          .option('role', { choices: ['buyer', 'seller'] as const })
          .option('limit', { type: 'number', default: 20 }),
      async ({ role, limit, ...options }) =>
        print(options, (await (await sessionOf(options)).market.receipts.list({ role, limit })).data, {
          time: ({ created_at }) => time(created_at),
          receipt: ({ id }) => id,
          as: ({ recipient_type }) => recipient_type,
          listing: ({ listing }) => listing.slug,
          paid: ({ gross_amount }) => formatUsd(gross_amount),
          fee: ({ fee_amount }) => formatUsd(fee_amount),
          net: ({ net_amount }) => formatUsd(net_amount),
        }),
    )
    .command(
      'receipt <id>',
      'The signed receipt, to keep in a file; the keys that verify it are kept, too',
      (yargs) => yargs.positional('id', { type: 'string', demandOption: true }),
      async ({ id, ...options }) => {
        const { market, url, account } = await sessionOf(options);
        const [proof, answer] = await Promise.all([market.receipts.proof(id), fetch(`${url}/.well-known/jwks.json`)]);
        const jwks = (await answer.json()) as JSONWebKeySet;
        if (account) await changeConfig((config) => void (config.accounts[url]!.jwks = jwks));
        printJson(proof);
      },
    )
    .command(
      'verify-receipt <file>',
      'Checks a signed receipt offline',
      (yargs) =>
        yargs
          .positional('file', {
            type: 'string',
            demandOption: true,
            describe: 'As `market receipt` printed it, or its JWS',
          })
          .option('jwks', {
            type: 'string',
            describe: "A file with the marketplace's keys; by default those kept here",
          }),
      async ({ file, jwks: keys, ...options }) => {
        const jwks = keys
          ? (JSON.parse(await readFile(keys, 'utf8')) as JSONWebKeySet)
          : (await sessionOf(options)).account?.jwks;
        if (!jwks) throw new CommandError('No keys of the marketplace are kept here: name a file of them with --jwks');
        const saved = (await readFile(file, 'utf8')).trim();
        const { jws, claims: shown } = saved.startsWith('{')
          ? (JSON.parse(saved) as { jws: string; claims: unknown })
          : { jws: saved, claims: undefined };
        const { payload } = await compactVerify(jws, createLocalJWKSet(jwks), { algorithms: ['EdDSA'] }).catch(
          (cause: unknown) =>
            Promise.reject(new CommandError(`The receipt is not genuine: ${(cause as Error).message}`)),
        );
        const claims = JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>;
        if (shown !== undefined && !isDeepStrictEqual(claims, shown))
          throw new CommandError('The receipt is not genuine: its claims are not those that were signed.');
        if (options.json) return printJson(claims);
        for (const [claim, value] of Object.entries(claims)) console.log(`${claim}: ${JSON.stringify(value)}`);
      },
    )
    .command(
      'ledger',
      "The account's entries, newest first",
      (yargs) => yargs.option('limit', { type: 'number', default: 20 }),
      async ({ limit, ...options }) =>
        print(options, (await (await sessionOf(options)).market.ledger.list({ limit })).data, {
          time: ({ created_at }) => time(created_at),
          type: ({ type }) => type,
          listing: ({ listing }) => listing?.slug,
          direction: ({ direction }) => direction,
          amount: ({ amount_cents }) => formatCents(amount_cents),
          balance: ({ balance_after_cents }) => formatCents(balance_after_cents),
        }),
    )
    .command(
      'balance',
      'What was earned and received, and what is due',
      (yargs) => yargs,
      async (options) => {
        const balance = await (await sessionOf(options)).market.balance();
        if (options.json) return printJson(balance);
        const { earned, received, payable, fees, refunds } = balance;
        const rows: [string, { usd: number }][] = [
          ['earned', earned],
          ...received.map(({ network, wallet, amount }): [string, { usd: number }] => [
            `received by ${wallet} on ${network}`,
            amount,
          ]),
          ['owed to you', payable],
          ['fees that you owe', fees.due],
          ['refunds owed to you', refunds.due_to_account],
          ['refunds that you owe', refunds.due_by_account],
        ];
        print(options, rows, { what: ([what]) => what, amount: ([, { usd }]) => formatUsd(usd) });
        if (fees.pay_by) console.log(`The fees are to be paid by ${time(fees.pay_by)}.`);
      },
    )
    .command(
      'refunds',
      'What is owed back to you and by you, newest first',
      (yargs) =>
        yargs
          .option('role', { choices: ['buyer', 'seller'] as const, describe: 'Owed to you, or by you' })
          .option('status', { choices: ['refund_due', 'refunded'] as const })
          .option('limit', { type: 'number', default: 20 }),
      async ({ role, status, limit, ...options }) =>
        print(options, (await (await sessionOf(options)).market.refunds.list({ role, status, limit })).data, {
          since: ({ due_since }) => time(due_since),
          refund: ({ id }) => id,
          as: ({ role }) => role,
          listing: ({ listing }) => listing.slug,
          amount: ({ amount }) => formatUsd(amount.usd),
          'owed by': ({ owed_by }) => owed_by,
          reason: ({ reason }) => reason,
          'pay by': ({ pay_by }) => pay_by && time(pay_by),
          to: ({ wallet, network }) => wallet && `${wallet} on ${network}`,
          transaction: ({ transaction_hash }) => transaction_hash,
        }),
    )
    .command(
      'statement <period>',
      'A period of the account: its entries, newest first, and its totals',
      (yargs) =>
        yargs
          .positional('period', {
            type: 'string',
            demandOption: true,
            describe: 'Of UTC: 2026-11, 2026-Q4, 2026 or 2026-11-03--2026-11-20',
          })
          .option('csv', { type: 'boolean', default: false, describe: 'Prints the entries as CSV' }),
      async ({ period, csv, ...options }) => {
        const { statements } = (await sessionOf(options)).market;
        if (csv) return void process.stdout.write(await statements.csv(period));
        const statement = await statements.get(period);
        if (options.json) return printJson(statement);
        const { entries, totals, opening_balance, closing_balance } = statement;
        print(options, entries, {
          time: ({ created_at }) => time(created_at),
          type: ({ type }) => type,
          listing: ({ listing }) => listing?.slug,
          direction: ({ direction }) => direction,
          amount: ({ amount_cents }) => formatCents(amount_cents),
          transaction: ({ transaction_hash }) => transaction_hash,
        });
        print(
          options,
          Object.entries({ 'opening balance': opening_balance, ...totals, 'closing balance': closing_balance }),
          { what: ([name]) => name.replaceAll('_', ' '), amount: ([, { usd }]) => formatUsd(usd) },
        );
      },
    )
    .command(
      'watch',
      'Sales, failures, reviews and all else that concerns the account, as it happens; Ctrl-C ends it',
      (yargs) =>
        yargs.option('since', {
          type: 'string',
          describe: 'The id of the last event that you have; all that are kept by default',
        }),
      async ({ since, ...options }) => {
        const stopped = new AbortController();
        for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopped.abort());
        const { market } = await sessionOf(options);
        for await (const event of market.events({ after: since, signal: stopped.signal })) {
          const { id, type, at, data } = event;
          console.log(options.json ? JSON.stringify(event) : `${id} ${time(at)} ${type} ${printable(data)}`);
        }
      },
    );
