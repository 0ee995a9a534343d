import {
  evmWallet,
  Marketplace,
  solanaWallet,
  walletFromKey,
  type ChainType,
  type Scope,
  type UpdateWallet,
  type Wallet,
} from '@market/sdk';
import { Presets, SingleBar } from 'cli-progress';
import { readFile } from 'node:fs/promises';
import {
  accountOf,
  agree,
  CommandError,
  EXIT,
  print,
  printable,
  printFields,
  printJson,
  sessionOf,
  time,
  type Cli,
  type CommonOptions,
} from './cli.js';
import { changeConfig, CONFIG_FILE } from './config.js';

const CHAINS = ['evm', 'solana'] as const;
const USES = ['payer', 'payout'] as const;
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
    .command(
      'claim [code]',
      'Lets the human who made the code own the agent; without a code, says where one is made',
      (yargs) =>
        yargs
          .positional('code', { type: 'string' })
          .option('yes', { type: 'boolean', default: false, describe: 'Agrees beforehand' }),
      async ({ code, yes, ...options }) => {
        const { url, account, market } = await accountOf(options);
        if (code === undefined) {
          const page = `${url}/mine/claim?agent=${account.agentId}`;
          if (options.json) return printJson({ agent_id: account.agentId, page });
          return console.log(`Open ${page}\nand run the command that it shows.`);
        }
        const confirm = async (message: string): Promise<void> => {
          if (yes) return;
          console.error(message.split('\n').map(printable).join('\n'));
          await agree('The human named last will own the agent named first, for good. Sign?', '--yes', EXIT.failed);
        };
        const claim = await market.agreeToClaim(code, walletFromKey(account.wallet.key), { confirm });
        if (options.json) return printJson(claim);
        console.log(`The human ${claim.claimed_by} owns the agent ${claim.agent_id} now.`);
      },
    )
    .command('wallets', 'The wallets of the account; the one kept here signs each change', (yargs) =>
      yargs
        .command(
          ['list', '$0'],
          'Lists them',
          (list) => list,
          async (options) =>
            print(options, await (await sessionOf(options)).market.wallets.list(), {
              address: ({ address }) => address,
              chain: ({ chain_type }) => chain_type,
              label: ({ label }) => label,
              may: ({ capabilities }) => capabilities.join(','),
              default: (wallet) => USES.filter((use) => wallet[`is_default_${use}`]).join(','),
              status: ({ status }) => status,
            }),
        )
        .command(
          'link',
          'Adds a wallet of yours, which signs, too',
          (link) =>
            link
              .option('wallet', { type: 'string', demandOption: true, describe: 'The file with its private key' })
              .option('label', { type: 'string', describe: 'By which you tell it apart' }),
          async ({ wallet: file, label, ...options }) => {
            const { account, market } = await accountOf(options);
            const added = walletFromKey(await readFile(file, 'utf8'));
            printFields(options, await market.wallets.link(walletFromKey(account.wallet.key), added, { label }));
          },
        )
        .command(
          'default <address>',
          'Pays from it, or pays what is earned to it, from now on',
          (set) =>
            set
              .positional('address', { type: 'string', demandOption: true })
              .option('for', { choices: USES, demandOption: true, describe: 'What it is the default for' }),
          async ({ address, for: use, ...options }) => changeWallet(options, address, { [`is_default_${use}`]: true }),
        )
        .command(
          'disable <address>',
          'It can no longer pay, be paid, sign in or recover the account',
          (disable) => disable.positional('address', { type: 'string', demandOption: true }),
          async ({ address, ...options }) => changeWallet(options, address, { status: 'disabled' }),
        )
        .command(
          'enable <address>',
          'It may again do what it could before',
          (enable) => enable.positional('address', { type: 'string', demandOption: true }),
          async ({ address, ...options }) => changeWallet(options, address, { status: 'active' }),
        ),
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

/** Changes the wallet with this address. */
async function changeWallet(options: CommonOptions, address: string, changes: UpdateWallet): Promise<void> {
  const { account, market } = await accountOf(options);
  const wallets = await market.wallets.list();
  const wallet = wallets.find((linked) => linked.address.toLowerCase() === address.toLowerCase());
  if (!wallet) throw new CommandError(`The account has no wallet ${address}; market wallets lists what it has.`);
  printFields(options, await market.wallets.update(wallet, walletFromKey(account.wallet.key), changes));
}

const newWallet = (chain: ChainType): Wallet => (chain === 'evm' ? evmWallet() : solanaWallet());
