#!/usr/bin/env node
import { MarketplaceError } from '@market/sdk';
import { accountCommands } from './account.js';
import { bookCommands } from './books.js';
import { buyerCommands, isUnpaid } from './buy.js';
import { CommandError, commonOptions, EXIT } from './cli.js';
import { listingCommands } from './listings.js';
import { sellerCommands } from './sell.js';
import { webhookCommands } from './webhooks.js';

const cli = [accountCommands, buyerCommands, sellerCommands, listingCommands, bookCommands, webhookCommands]
  .reduce((known, add) => add(known), commonOptions)
  .completion('completion', 'Prints a script that completes commands in bash and zsh')
  .demandCommand(1, 'Name a command.')
  .strict()
  .recommendCommands()
  .exitProcess(false)
  .fail((message, error) => {
    throw error && error.name !== 'YError' ? error : new CommandError(message ?? error.message, EXIT.usage);
  });
const asJson = process.argv.includes('--json');
try {
  await cli.parseAsync();
} catch (error) {
  process.exitCode = report(error as Error);
}

/** Prints what went wrong and what to do next. @returns the exit code. */
function report(error: Error): number {
  const { message } = error;
  if (!(error instanceof MarketplaceError)) {
    console.error(asJson ? JSON.stringify({ error: { message } }) : message);
    return error instanceof CommandError ? error.exitCode : EXIT.failed;
  }
  const { code, status, details, recovery, relayRequestId } = error;
  const facts = { code, message, status, details, recovery, relay_request_id: relayRequestId };
  const where = typeof details?.path === 'string' ? ` (at ${details.path || 'the root'})` : '';
  const meant = recovery?.did_you_mean?.length ? `\ndid you mean: ${recovery.did_you_mean.join(', ')}` : '';
  const next = recovery ? `\nnext: ${recovery.next_action}` : '';
  console.error(asJson ? JSON.stringify({ error: facts }) : `${code}: ${message}${where}${meant}${next}`);
  return isUnpaid(error) ? EXIT.notPaid : EXIT.failed;
}
