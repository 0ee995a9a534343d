import { formatUsd, type CreateListing } from '@market/sdk';
import { file as fileOf, job, reply, type SellerRequest } from '@market/sdk/seller';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { accountOf, CommandError, EXIT, print, printJson, sessionOf, type Cli, type CommonOptions } from './cli.js';
import { keepShop, type Stall } from './shop.js';
import type { Upstream } from './upstream.js';

/** The exports of a file that sells a service. */
interface Handler {
  default?: (request: SellerRequest & { reply: typeof reply; file: typeof fileOf; job: typeof job }) => unknown;
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
      'sell [handler]',
      'Serves calls by a file that exports a function, an API or an MCP server, under listings that it makes or finds again',
      (yargs) =>
        yargs
          .positional('handler', { type: 'string', describe: 'An ES module' })
          .option('upstream', { type: 'string', describe: 'The base address of an API whose operations are sold' })
          .option('openapi', {
            type: 'string',
            describe: 'The file or address of its OpenAPI document; openapi.json below --upstream by default',
          })
          .option('mcp', { type: 'string', describe: 'The command or address of an MCP server whose tools are sold' })
          .option('only', { ...repeated, describe: 'An operation or tool; all by default' })
          .option('upstream-header', { ...repeated, describe: '"Name: value", sent to the API or MCP server' })
          .option('dry-run', { type: 'boolean', default: false, describe: 'Shows what would be sold' })
          .option('price', { ...repeated, describe: 'USD a call; for one operation, as all of these: OPERATION=USD' })
          .option('name', { ...repeated, describe: "The listing's; the file's or operation's by default" })
          .option('description', repeated)
          .option('tag', repeated)
          .option('format', { ...repeated, describe: 'What answers come in, beside JSON: png, text/csv, sse' })
          .option('category', { type: 'string', describe: 'Its id' })
          .option('host', { type: 'string', default: '127.0.0.1' })
          .option('port', { type: 'number', default: 0, describe: 'A free one by default' })
          .option('public-url', { type: 'string', describe: 'Where the marketplace reaches this server' })
          .conflicts('mcp', ['upstream', 'openapi', 'handler'])
          .conflicts('handler', ['upstream', 'openapi'])
          .check(({ handler, upstream, openapi, mcp }) => {
            if (handler ?? upstream ?? openapi ?? mcp) return true;
            throw new CommandError('Name a file, --upstream, --openapi or --mcp.', EXIT.usage);
          }),
      async ({ handler, ...options }) => {
        const { stalls, close } = handler
          ? { stalls: [await stallOf(handler)], close: undefined }
          : await stallsBehind(options);
        try {
          choose(stalls, options);
          if (options.dryRun) return show(stalls, options);
          await keepShop(await accountOf(options), stalls, options);
        } finally {
          await close?.();
        }
      },
    );

const repeated = { type: 'string', array: true, nargs: 1, default: [] as string[] } as const;

/** What the options say about the listings: each value holds for all of them, or for one. */
type Chosen = Record<'price' | 'name' | 'description' | 'tag' | 'format', string[]> & { category?: string };

async function stallOf(file: string): Promise<Stall> {
  const module = (await import(pathToFileURL(resolve(file)).href)) as Handler;
  const handle = module.default;
  if (typeof handle !== 'function') throw new CommandError(`${file} exports no function as its default.`);
  const id = basename(file).replace(/\.\w+$/, '');
  const handler: Stall['handler'] = (request) => handle({ ...request, reply, file: fileOf, job });
  return { id, path: '', listing: { name: id, ...module.listing }, handler };
}

async function stallsBehind(
  options: Upstream & { only: string[] },
): Promise<{ stalls: Stall[]; close(): Promise<void> }> {
  // Loaded for this command alone, for what it depends on is large.
  const { servicesBehind } = await import('./upstream.js');
  const { origin, services, left, close } = await servicesBehind(options);
  const { only } = options;
  const unknown = only.filter((id) => !services.some((service) => service.id === id));
  const isWanted = (id: string): boolean => only.length === 0 || only.includes(id);
  for (const { id, reason } of left.filter((each) => isWanted(each.id)))
    console.error(`${id} cannot be sold: ${reason}`);
  const stalls = services
    .filter(({ id }) => isWanted(id))
    .map((service) => Object.assign(service, { path: encodeURIComponent(service.id), key: `${origin} ${service.id}` }));
  if (unknown.length === 0 && stalls.length > 0) return { stalls, close };
  await close();
  throw new CommandError(
    `There is no ${unknown.join(', ') || 'operation'} to sell, but: ${services.map(({ id }) => id).join(', ') || 'nothing'}`,
    EXIT.usage,
  );
}

/** An option that is not given leaves what is there, and a listing that was made before keeps what nobody names. */
function choose(stalls: readonly Stall[], { price, name, description, tag, format, category }: Chosen): void {
  const ids = stalls.map(({ id }) => id);
  for (const stall of stalls) {
    const { id, listing } = stall;
    const given = (values: string[]): string[] => [
      ...values.filter((value) => !ids.some((other) => value.startsWith(`${other}=`))),
      ...values.filter((value) => value.startsWith(`${id}=`)).map((value) => value.slice(id.length + 1)),
    ];
    const added = (values: string[] = [], more: string[]): string[] => [...new Set([...values, ...given(more)])];
    const amount = given(price).at(-1);
    if (amount !== undefined && !/^\d+(\.\d+)?$/.test(amount))
      throw new CommandError(`${amount} is no price in USD.`, EXIT.usage);
    stall.listing = {
      ...listing,
      name: given(name).at(-1) ?? listing.name,
      description: given(description).at(-1) ?? listing.description,
      pricing_amount: amount === undefined ? listing.pricing_amount : Number(amount),
      tags: given(tag).length > 0 ? added(listing.tags, tag) : listing.tags,
      formats: given(format).length > 0 ? added(listing.formats ?? ['json'], format) : listing.formats,
      category_id: category ?? listing.category_id,
    };
    if (stall.key !== undefined && stall.listing.pricing_amount === undefined)
      throw new CommandError(`What does ${id} cost? Say so with --price, in USD; 0 gives it away.`, EXIT.usage);
  }
}

const show = (stalls: readonly Stall[], options: CommonOptions): void =>
  print(
    options,
    stalls.map(({ id, listing }) => ({ operation: id, ...listing })),
    {
      operation: ({ operation }) => operation,
      name: ({ name }) => name,
      price: ({ pricing_amount }) => formatUsd(pricing_amount ?? 0),
      formats: ({ formats }) => formats?.join(','),
      input: ({ example_input }) => example_input,
    },
  );
