import type { CreateWebhook, UpdateWebhook } from '@market/sdk';
import { agree, EXIT, print, printFields, printJson, sessionOf, time, type Cli } from './cli.js';

const id = { type: 'string', demandOption: true } as const;
const type = { type: 'string', array: true, describe: 'Of event, as in `market watch`; all by default' } as const;
const description = { type: 'string', describe: 'How you tell your webhooks apart' } as const;

export const webhookCommands = (cli: Cli): Cli =>
  cli.command('webhooks', 'The addresses that your events are sent to', (yargs) =>
    yargs
      .command(
        ['list', '$0'],
        'Lists them',
        (list) => list,
        async (options) =>
          print(options, await (await sessionOf(options)).market.webhooks.list(), {
            id: (webhook) => webhook.id,
            address: ({ url }) => url,
            description: (webhook) => webhook.description,
            types: ({ event_types }) => event_types?.join(',') ?? 'all',
            status: ({ status, disabled_reason }) => disabled_reason ?? status,
            arrived: ({ last_success_at }) => last_success_at && time(last_success_at),
            failed: ({ last_failure_at }) => last_failure_at && time(last_failure_at),
          }),
      )
      .command(
        'create <address>',
        'Makes one and shows its secret, once',
        (create) => create.positional('address', id).options({ type, description }),
        async ({ address: url, type: event_types, description: words, ...options }) => {
          const body = { url, event_types, description: words } as CreateWebhook;
          const created = await (await sessionOf(options)).market.webhooks.create(body);
          if (options.json) printJson(created);
          else console.log(`${created.id}\nsecret: ${created.secret}\nIt is not shown again.`);
        },
      )
      .command(
        'edit <id>',
        'Changes what is named and nothing else',
        (edit) =>
          edit
            .positional('id', id)
            .options({ type, description })
            .option('address', { type: 'string' })
            .option('status', { choices: ['active', 'paused'] as const }),
        async ({ id: webhook, address: url, type: event_types, description: words, status, ...options }) => {
          const changes = { url, event_types, description: words, status } as UpdateWebhook;
          printFields(options, await (await sessionOf(options)).market.webhooks.update(webhook, changes));
        },
      )
      .command(
        'test <id>',
        'Sends it a test event',
        (test) => test.positional('id', id),
        async ({ id: webhook, ...options }) => {
          const tested = await (await sessionOf(options)).market.webhooks.test(webhook);
          printFields(options, tested);
          if (tested.failure !== null) process.exitCode = EXIT.failed;
        },
      )
      .command(
        'rotate <id>',
        'Makes a new secret and shows it, once; both sign for a day',
        (rotate) => rotate.positional('id', id),
        async ({ id: webhook, ...options }) =>
          printFields(options, await (await sessionOf(options)).market.webhooks.rotateSecret(webhook)),
      )
      .command(
        'delete <id>',
        'Deletes it, after it has asked',
        (remove) =>
          remove.positional('id', id).option('yes', { type: 'boolean', default: false, describe: 'Does not ask' }),
        async ({ id: webhook, yes, ...options }) => {
          if (!yes) await agree('Events that wait for it are not sent any more. Delete it?', '--yes', EXIT.failed);
          printFields(options, await (await sessionOf(options)).market.webhooks.remove(webhook));
        },
      )
      .command(
        'deliveries <id>',
        'What was sent to it, newest first',
        (deliveries) => deliveries.positional('id', id).option('limit', { type: 'number', default: 20 }),
        async ({ id: webhook, limit, ...options }) => {
          const { market } = await sessionOf(options);
          print(options, (await market.webhooks.deliveries(webhook, { limit })).data, {
            time: ({ created_at }) => time(created_at),
            delivery: (delivery) => delivery.id,
            event: ({ event }) => event.type,
            status: ({ status }) => status,
            attempts: ({ attempts }) => attempts.length,
            answer: ({ attempts }) => attempts.at(-1)?.status_code ?? attempts.at(-1)?.failure,
          });
        },
      )
      .command(
        'replay <delivery>',
        'Sends a delivery again',
        (replay) => replay.positional('delivery', id),
        async ({ delivery, ...options }) =>
          printFields(options, await (await sessionOf(options)).market.webhooks.replay(delivery)),
      ),
  );
