import { MarketplaceError } from '@market/sdk';
import { startMarketplace, type RunningMarketplace } from './marketplace-process.js';
import { tellStory } from './story.js';
import { BrokenPromise, shortenSecrets, Transcript } from './transcript.js';

/**
 * A buyer and a seller live through one paid call and all that belongs to it, and every promise on the way is checked.
 * `BASE_URL` takes a running marketplace in sandbox mode that may call private addresses, in place of one of our own;
 * `SELLER_HOST` is the name under which it reaches this machine, if it runs elsewhere.
 */
async function main(): Promise<void> {
  const cancel = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => cancel.abort(new Error(`Stopped by ${signal}.`)));
  }
  const marketplace = await marketplaceFor(process.env['BASE_URL'], cancel.signal);
  try {
    await tellStory(marketplace, new Transcript(process.stdout), {
      signal: cancel.signal,
      sellerHost: process.env['SELLER_HOST'],
    });
  } finally {
    await marketplace.stop();
  }
}

async function marketplaceFor(baseUrl: string | undefined, signal: AbortSignal): Promise<RunningMarketplace> {
  if (baseUrl) return { baseUrl, description: 'the marketplace of BASE_URL', stop: async () => {} };
  process.stdout.write('\n Starting a marketplace with its own database …\n');
  return startMarketplace(signal);
}

function explain(error: unknown): string {
  if (error instanceof BrokenPromise) {
    const found = error.found === undefined ? '' : `\n   found: ${JSON.stringify(error.found, undefined, 2)}`;
    return error.message + found;
  }
  if (error instanceof MarketplaceError) {
    const { status, code, message, details, requestId } = error;
    if (status === 0) return message;
    return `The marketplace answered ${status} ${code}: ${message} ${JSON.stringify({ details, requestId })}`;
  }
  // A plain Error was worded for the reader; any other kind is a bug and shows where.
  if (error instanceof Error) return error.constructor === Error ? error.message : (error.stack ?? error.message);
  return String(error);
}

await main().catch((error: unknown) => {
  process.stderr.write(`\n ✗ ${shortenSecrets(explain(error))}\n\n`);
  process.exitCode = 1;
});
