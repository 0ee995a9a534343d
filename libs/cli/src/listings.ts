import type { CreateListing, UpdateEndpoint } from '@market/sdk';
import {
  agree,
  bodyFrom,
  EXIT,
  headerOf,
  price,
  print,
  printFields,
  printJson,
  sessionOf,
  time,
  type Cli,
  type CommonOptions,
} from './cli.js';
import { changeConfig, CONFIG_FILE } from './config.js';

const json = { type: 'string', describe: 'JSON, @file, or @- for standard input' } as const;
const listing = { type: 'string', demandOption: true, describe: 'Its slug or id' } as const;
const yes = { type: 'boolean', default: false, describe: 'Does not ask' } as const;

/** What a listing says, in options; `fields` has whatever else it may say. */
const fields = {
  name: { type: 'string' },
  description: { type: 'string' },
  price: { type: 'number', describe: 'USD' },
  'included-calls': { type: 'number', describe: 'Of a period of a monthly or yearly one' },
  'free-calls': { type: 'number', describe: 'Each buyer may try so many' },
  endpoint: { type: 'string', describe: 'Where calls are forwarded to' },
  category: { type: 'string', describe: 'Its id' },
  tag: { type: 'string', array: true },
  format: { type: 'string', array: true, describe: 'What answers come in: json, png, text/csv, sse' },
  'input-schema': json,
  'example-input': json,
  fields: { ...json, describe: `Other fields: ${json.describe}` },
} as const;

interface Fields {
  name?: string;
  description?: string;
  price?: number;
  includedCalls?: number;
  freeCalls?: number;
  endpoint?: string;
  category?: string;
  tag?: string[];
  format?: string[];
  inputSchema?: string;
  exampleInput?: string;
  fields?: string;
}

async function fieldsOf(given: Fields): Promise<Partial<CreateListing>> {
  const read = async (value?: string): Promise<object | undefined> =>
    value === undefined ? undefined : bodyFrom(value);
  const named = {
    name: given.name,
    description: given.description,
    pricing_amount: given.price,
    included_calls: given.includedCalls,
    free_calls: given.freeCalls,
    private_endpoint_url: given.endpoint,
    category_id: given.category,
    tags: given.tag,
    formats: given.format,
    input_schema: await read(given.inputSchema),
    example_input: await read(given.exampleInput),
  };
  const stated = Object.entries(named).filter(([, value]) => value !== undefined);
  return { ...(await read(given.fields)), ...Object.fromEntries(stated) } as Partial<CreateListing>;
}

/** Keeps a new secret and shows it. */
async function shown(options: CommonOptions, id: string, answer: { gateway_signing_secret?: string }): Promise<void> {
  const { url, account } = await sessionOf(options);
  const secret = answer.gateway_signing_secret;
  if (secret !== undefined && account)
    await changeConfig((config) => void (config.accounts[url]!.signingSecrets[id] = secret));
  if (options.json) return printJson(answer);
  if (secret !== undefined)
    console.log(`signing secret: ${secret}\nIt is not shown again.${account ? ` ${CONFIG_FILE} has it, too.` : ''}`);
}

const WITHDRAWN =
  'It leaves the catalog and becomes a draft. Calls under way are completed and paid. Calls that are paid for and not ' +
  'yet delivered wait: they are delivered if you publish it again in time, and refunded to their buyers if not.';
const DELETED =
  'It and its endpoint are gone for good. Calls that are paid for and not yet delivered are refunded to their buyers. ' +
  'Your books stay.';

export const listingCommands = (cli: Cli): Cli =>
  cli.command('listings', 'What you sell: your listings and their endpoints', (yargs) =>
    yargs
      .command(
        ['list', '$0'],
        'Lists them, drafts included',
        (list) => list.option('limit', { type: 'number', default: 20 }),
        async ({ limit, ...options }) => {
          const { market } = await sessionOf(options);
          print(options, (await market.listings.search({ mine: true, limit })).data, {
            listing: ({ slug }) => slug,
            name: ({ name }) => name,
            price,
            status: ({ status }) => status,
            live: ({ quality }) => quality?.live,
            success: ({ quality }) => quality?.success_rate_30d,
            changed: ({ updated_at }) => time(updated_at),
          });
        },
      )
      .command(
        'show <listing>',
        'Everything about one, and about its endpoint',
        (show) => show.positional('listing', listing),
        async ({ listing: name, ...options }) => {
          const { market } = await sessionOf(options);
          const found = await market.listings.get(name);
          const endpoint = found.gateway_url !== undefined ? await market.endpoint.get(found) : null;
          printFields(options, { ...found, endpoint });
        },
      )
      .command(
        'create',
        'Makes one and publishes it; calls are paid one by one, if --fields does not say otherwise',
        (create) => create.options(fields).option('draft', { type: 'boolean', default: false }),
        async ({ draft, ...options }) => {
          const { market } = await sessionOf(options);
          const created = await market.listings.create({
            pricing_model: 'per_call',
            ...(await fieldsOf(options)),
            ...(draft && { status: 'draft' }),
          } as CreateListing);
          if (!options.json) console.log(`${created.slug} is ${created.status}.`);
          await shown(options, created.id, created);
        },
      )
      .command(
        'edit <listing>',
        'Changes what is named and nothing else',
        (edit) => edit.positional('listing', listing).options(fields),
        async ({ listing: name, ...options }) => {
          const { market } = await sessionOf(options);
          const changed = await market.listings.update(await market.listings.get(name), await fieldsOf(options));
          await shown(options, changed.id, changed);
        },
      )
      .command(
        'publish <listing>',
        'Puts a draft into the catalog',
        (publish) => publish.positional('listing', listing),
        ({ listing: name, ...options }) => changeStatus(options, name, 'active'),
      )
      .command(
        'withdraw <listing>',
        'Takes one out of the catalog, after it has asked',
        (withdraw) => withdraw.positional('listing', listing).option('yes', yes),
        async ({ listing: name, yes: isAgreed, ...options }) => {
          if (!isAgreed) await agree(`${WITHDRAWN}\nWithdraw "${name}"?`, '--yes', EXIT.failed);
          await changeStatus(options, name, 'draft');
        },
      )
      .command(
        'delete <listing>',
        'Deletes one, after it has asked',
        (remove) => remove.positional('listing', listing).option('yes', yes),
        async ({ listing: name, yes: isAgreed, ...options }) => {
          const { market } = await sessionOf(options);
          const found = await market.listings.get(name);
          if (!isAgreed) await agree(`${DELETED}\nDelete "${found.name}"?`, '--yes', EXIT.failed);
          printFields(options, await market.listings.remove(found));
        },
      )
      .command(
        'pause <listing>',
        'Takes no calls for a while; the listing stays in the catalog',
        (pause) => pause.positional('listing', listing),
        ({ listing: name, ...options }) => changeEndpoint(options, name, { status: 'paused' }),
      )
      .command(
        'resume <listing>',
        'Takes calls again',
        (resume) => resume.positional('listing', listing),
        ({ listing: name, ...options }) => changeEndpoint(options, name, { status: 'active' }),
      )
      .command('endpoint', 'Where the calls of a listing go', (endpoint) =>
        endpoint
          .command(
            'set <listing> [address]',
            'Changes its address, header and limits',
            (set) =>
              set
                .positional('listing', listing)
                .positional('address', { type: 'string' })
                .option('auth-header', {
                  type: 'string',
                  describe: '"Name: value", sent with each call; "" removes it',
                })
                .option('timeout-ms', { type: 'number', describe: 'Until the whole answer, or the first event, came' })
                .option('limits', { ...json, describe: `The fields of limits: ${json.describe}` }),
            async ({ listing: name, address, authHeader, timeoutMs, limits, ...options }) =>
              changeEndpoint(options, name, {
                private_endpoint_url: address,
                auth_header: authHeader === undefined ? undefined : authHeader === '' ? null : headerOf(authHeader),
                timeout_ms: timeoutMs,
                limits: limits === undefined ? undefined : await bodyFrom(limits),
              }),
          )
          .command(
            'test <listing> [body]',
            'Sends it a signed test: the body, or else the example_input',
            (test) => test.positional('listing', listing).positional('body', json),
            async ({ listing: name, body, ...options }) => {
              const { market } = await sessionOf(options);
              const sent = body === undefined ? undefined : await bodyFrom(body);
              const tested = await market.endpoint.test(await market.listings.get(name), { body: sent });
              printFields(options, tested);
              if (!tested.success) process.exitCode = EXIT.failed;
            },
          )
          .command(
            'rotate <listing>',
            'Makes a new signing secret and shows it, once',
            (rotate) =>
              rotate
                .positional('listing', listing)
                .option('overlap', { type: 'number', describe: 'Seconds for which both sign; a day by default' }),
            async ({ listing: name, overlap, ...options }) => {
              const { market } = await sessionOf(options);
              const { id } = await market.listings.get(name);
              await shown(options, id, await market.endpoint.rotateSecret(id, { overlapSeconds: overlap }));
            },
          )
          .demandCommand(1, 'Name a command.'),
      ),
  );

async function changeStatus(options: CommonOptions, name: string, status: 'active' | 'draft'): Promise<void> {
  const { market } = await sessionOf(options);
  const changed = await market.listings.update(await market.listings.get(name), { status });
  await shown(options, changed.id, changed);
}

async function changeEndpoint(options: CommonOptions, name: string, changes: UpdateEndpoint): Promise<void> {
  const { market } = await sessionOf(options);
  printFields(options, await market.endpoint.update(await market.listings.get(name), changes));
}
