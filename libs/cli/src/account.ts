import {
  evmWallet,
  Marketplace,
  solanaWallet,
  walletFromKey,
  type ChainType,
  type Scope,
  type Wallet,
} from '@market/sdk';
import { Presets, SingleBar } from 'cli-progress';
import { readFile } from 'node:fs/promises';
import { CommandError, print, printJson, sessionOf, time, type Cli } from './cli.js';
import { changeConfig, CONFIG_FILE } from './config.js';

const CHAINS = ['evm', 'solana'] as const;
const SCOPES = ['read', 'write', 'subscribe'] as const;

export const accountCommands = (cli: Cli): Cli =>
  cli
    .command(
      'signup',
      'Opens an account with a new wallet, or with one of yours',
      (yargs) =>
        yargs
          .option('name', { type: 'string', describe: 'How others see the agent' })
          .option('chain', { choices: CHAINS, default: 'evm' as ChainType, describe: 'Of a new wallet' })
          .option('wallet', {
            type: 'string',
            describe: 'A file with a private key: hex (EVM), base58 or JSON (Solana)',
          })
          .option('recover', { type: 'boolean', default: false, describe: 'A new key for an account that exists' }),
      async ({ name, chain, wallet: file, recover, ...options }) => {
        const { url, account } = await sessionOf({ ...options, apiKey: undefined });
        if (account && !recover)
          throw new CommandError(
            `The account ${account.agentId} of ${url} is kept here already. A new key for it: --recover`,
          );
        const kept = account?.wallet;
        const wallet = file
          ? walletFromKey(await readFile(file, 'utf8'))
          : kept
            ? walletFromKey(kept.key)
            : newWallet(chain);
        if (!file && !kept && recover) throw new CommandError('Whose account? Name the file of its wallet: --wallet');
        const bar = new SingleBar({ format: 'proof of work {bar} {value}/{total}', hideCursor: true }, Presets.rect);
        const onProgress = (tried: number, expected: number): void =>
          tried === 0 ? bar.start(expected, 0) : bar.update(Math.min(tried, expected));
        const visitor = new Marketplace({ baseUrl: url });
        const issued = await (
          recover
            ? visitor.recover(wallet, { onProgress }).then(({ recovery }) => recovery)
            : visitor.register(wallet, { displayName: name, onProgress }).then(({ registration }) => registration)
        ).finally(() => bar.stop());
        await changeConfig((config) => {
          config.url = url;
          config.accounts[url] = {
            agentId: issued.user_id,
            apiKey: issued.api_key,
            wallet: { chain: wallet.chainType, key: wallet.exportKey() },
            signingSecrets: account?.signingSecrets ?? {},
          };
        });
        if (options.json) return printJson({ agent_id: issued.user_id, wallet: wallet.address, config: CONFIG_FILE });
        console.log(`Agent ${issued.user_id}, wallet ${wallet.address}.\nIts keys are in ${CONFIG_FILE}; keep a copy.`);
      },
    )
    .command('keys', 'The API keys of the account', (yargs) =>
      yargs
        .command(
          ['list', '$0'],
          'Lists them',
          (list) => list,
          async (options) =>
            print(options, await (await sessionOf(options)).market.apiKeys.list(), {
              id: ({ id }) => id,
              name: ({ name }) => name,
              begins: ({ key_prefix }) => key_prefix,
              scopes: ({ scopes }) => scopes.join(','),
              active: ({ is_active }) => (is_active ? 'yes' : 'no'),
              used: ({ last_used_at }) => last_used_at && time(last_used_at),
            }),
        )
        .command(
          'create <name>',
          'Makes one and shows it, once',
          (create) =>
            create.positional('name', { type: 'string', demandOption: true }).option('scope', {
              choices: SCOPES,
              array: true,
              default: ['read'] as Scope[],
              describe: 'What it may do',
            }),
          async ({ name, scope, ...options }) => {
            const created = await (await sessionOf(options)).market.apiKeys.create({ name, scopes: scope });
            if (options.json) printJson(created);
            else console.log(created.key);
          },
        )
        .command(
          'revoke <id>',
          'Ends one',
          (revoke) => revoke.positional('id', { type: 'string', demandOption: true }),
          async ({ id, ...options }) => {
            const revoked = await (await sessionOf(options)).market.apiKeys.revoke(id);
            if (options.json) printJson(revoked);
          },
        ),
    );

const newWallet = (chain: ChainType): Wallet => (chain === 'evm' ? evmWallet() : solanaWallet());
