import { formatUsd, type CreateListing, type UpdatedListing } from '@market/sdk';
import { reply, sellerServer, type SellerRequest } from '@market/sdk/seller';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { accountOf, CommandError, EXIT, print, printJson, sessionOf, type Cli, type Session } from './cli.js';
import { changeConfig, type Account } from './config.js';

/** The exports of a file that sells a service. */
interface Handler {
  default?: (request: SellerRequest & { reply: typeof reply }) => unknown;
  /** Fields of its listing; options override them. */
  listing?: Partial<CreateListing>;
}

export const sellerCommands = (cli: Cli): Cli =>
  cli
    .command(
      'doctor',
      'Says what buyers and indexers see of a listing of yours, why it is not found, and what to do about it',
      (yargs) =>
        yargs
          .option('listing', { type: 'string', demandOption: true, describe: 'Its slug or id' })
          .option('question', { type: 'string', describe: 'What a buyer would ask for; its name by default' })
          .option('probe', { type: 'boolean', default: true, describe: 'Sends its endpoint a test call' }),
      async ({ listing, question, probe, ...options }) => {
        const { market } = await sessionOf(options);
        const found = await market.listings.validate(listing, { ...(question && { q: question }), probe });
        if (options.json) printJson(found);
        else
          print(options, found.checks, {
            check: ({ name }) => name,
            status: ({ status }) => status,
            message: ({ message }) => message,
            fix: ({ fix }) => fix,
          });
        if (!found.ok) process.exitCode = EXIT.failed;
      },
    )
    .command(
      'sell <handler>',
      'Serves calls with a file that exports a function, under a listing that it makes or finds again',
      (yargs) =>
        yargs
          .positional('handler', { type: 'string', demandOption: true, describe: 'An ES module' })
          .option('name', { type: 'string', describe: "The listing's; the file's by default" })
          .option('description', { type: 'string' })
          .option('price', { type: 'number', describe: 'USD a call' })
          .option('category', { type: 'string', describe: 'Its id' })
          .option('host', { type: 'string', default: '127.0.0.1' })
          .option('port', { type: 'number', default: 0, describe: 'A free one by default' })
          .option('public-url', { type: 'string', describe: 'Where the marketplace reaches this server' }),
      async ({ handler: file, name, description, price, category, host, port, publicUrl, ...options }) => {
        const session = await accountOf(options);
        const module = (await import(pathToFileURL(resolve(file)).href)) as Handler;
        const handle = module.default;
        if (typeof handle !== 'function') throw new CommandError(`${file} exports no function as its default.`);
        const secrets: string[] = [];
        const log = (event: object, text: string): void =>
          console.log(options.json ? JSON.stringify(event) : `${new Date().toTimeString().slice(0, 8)} ${text}`);
        const server = await sellerServer(
          async (request) => {
            const { event, requestId } = request.call;
            const startedAt = performance.now();
            let status = 200;
            try {
              const answer = await handle({ ...request, reply });
              if (answer instanceof Object && answer.constructor === reply(0, 0).constructor)
                status = (answer as ReturnType<typeof reply>).status;
              return answer;
            } catch (error) {
              status = 500;
              throw error;
            } finally {
              const ms = Math.round(performance.now() - startedAt);
              log({ event, request_id: requestId, status, ms }, `${event} ${requestId} ${status} ${ms} ms`);
            }
          },
          { secret: () => secrets, host, port },
        );
        const endpoint = publicUrl ?? server.url;
        const { listing, secret } = await publish(session, {
          name: basename(file).replace(/\.\w+$/, ''),
          ...module.listing,
          ...(name && { name }),
          ...(description && { description }),
          ...(price !== undefined && { pricing_amount: price }),
          ...(category && { category_id: category }),
          private_endpoint_url: endpoint,
        }).catch(async (error: unknown) => {
          await server.close();
          throw error;
        });
        secrets.push(secret);
        log(
          { event: 'selling', listing: listing.slug, price: listing.pricing_amount, endpoint },
          `selling ${listing.slug} for ${formatUsd(listing.pricing_amount ?? 0)} a call at ${endpoint}; Ctrl-C closes the shop`,
        );
        await new Promise((stop) => ['SIGINT', 'SIGTERM'].forEach((signal) => process.once(signal, stop)));
        await session.market.listings.update(listing, { status: 'draft' }).finally(() => server.close());
      },
    );

/** Uses the account's listing with that name, or creates it. */
async function publish(
  { market, url, account }: Session & { account: Account },
  fields: Partial<CreateListing> & { name: string },
): Promise<{ listing: Pick<UpdatedListing, 'id' | 'slug' | 'pricing_amount'>; secret: string }> {
  const { data: mine } = await market.listings.search({ mine: true, q: fields.name, limit: 100 });
  const known = mine.find(({ name }) => name === fields.name);
  const keep = (id: string, secret: string): Promise<void> =>
    changeConfig((config) => void (config.accounts[url]!.signingSecrets[id] = secret));
  if (!known) {
    const created = await market.listings.create({
      description: `${fields.name}, a service of an agent.`,
      pricing_model: 'per_call',
      pricing_amount: 0,
      ...fields,
    });
    const secret = created.gateway_signing_secret!;
    await keep(created.id, secret);
    return { listing: created, secret };
  }
  let secret = account.signingSecrets[known.id];
  if (!secret) {
    secret = (await market.endpoint.rotateSecret(known, { overlapSeconds: 0 })).gateway_signing_secret;
    await keep(known.id, secret);
  }
  return { listing: await market.listings.update(known, { ...fields, status: 'active' }), secret };
}
