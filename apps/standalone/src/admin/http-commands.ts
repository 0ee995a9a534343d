import type { OutputOf } from '@market/contracts';
import { holdListing } from '@market/contracts/catalog';
import { revokeAnyKey, suspendAgent } from '@market/contracts/identity';
import { CommandFailure, type CommandInput, type Environment } from '@market/runtime';
import { Marketplace, MarketplaceError, walletFromKey, type Wallet } from '@market/sdk';
import type { AdminCommand } from './admin-command.js';

const URL_OPTION = { url: { help: "the marketplace's address; MARKET_URL or PUBLIC_URL by default" } };
const WHY = 'why; kept, and shown to operators alone';
const PAGE = 100;
const MAX_LAST = 100_000;

type Ask = (operator: Marketplace, input: CommandInput) => Promise<string>;

/** Signs in for this one command, as the operator whose wallet key is in the environment. */
const asOperator =
  (ask: Ask): AdminCommand['run'] =>
  async (input, env) => {
    const baseUrl = input.options.url || env.MARKET_URL || env.PUBLIC_URL || 'http://localhost:3000';
    const wallet = operatorsWallet(env);
    try {
      const { marketplace } = await new Marketplace({ baseUrl }).signIn(wallet);
      return await ask(marketplace, input).finally(() => marketplace.signOut());
    } catch (error) {
      if (error instanceof MarketplaceError) throw new CommandFailure(`${baseUrl}: ${error.message}`);
      throw error;
    }
  };

/** The error about an unreadable key may quote the key, so it is not passed on. */
function operatorsWallet({ OPERATOR_KEY: key }: Environment): Wallet {
  if (!key)
    throw new CommandFailure('OPERATOR_KEY or OPERATOR_KEY_FILE must give the private key of a wallet in OPERATORS');
  try {
    return walletFromKey(key);
  } catch {
    throw new CommandFailure('OPERATOR_KEY is no private key: hex (EVM), base58 or a JSON array (Solana)');
  }
}

/** @param path with `*` in place of the argument. */
const pathOf = (path: string, { arguments: [argument = ''] }: CommandInput): string =>
  `/admin${path.replace('*', encodeURIComponent(argument))}`;

const shows = (name: string, path: string, help: string, argument?: string): AdminCommand => ({
  name,
  help: `prints ${help} as JSON`,
  arguments: argument === undefined ? [] : [argument],
  options: URL_OPTION,
  worksOn: 'http',
  run: asOperator(async (operator, input) =>
    JSON.stringify(await operator.request('GET', pathOf(path, input)), null, 2),
  ),
});

function acts<Done extends { id: string; changed: boolean }>(
  declared: Pick<AdminCommand, 'name' | 'help'> & { argument: string; path: string; needsReason: boolean },
  stateOf: (done: Done) => string,
): AdminCommand {
  const { name, help, argument, path, needsReason } = declared;
  return {
    name,
    help,
    arguments: [argument],
    options: { reason: { help: WHY, required: needsReason }, ...URL_OPTION },
    worksOn: 'http',
    run: asOperator(async (operator, input) => {
      const { reason } = input.options;
      const done = await operator.request<Done>('POST', pathOf(path, input), { body: { reason } });
      const state = `${done.id} ${stateOf(done)}`;
      if (!done.changed) throw new CommandFailure(`${state}, and was so before: nothing changed`);
      return state;
    }),
  };
}

const stateOfAgent = ({ display_name, is_suspended }: OutputOf<typeof suspendAgent>): string =>
  `(${display_name}) is ${is_suspended ? 'suspended' : 'not suspended'}`;
const stateOfListing = ({ name, status, suspended_by }: OutputOf<typeof holdListing>): string =>
  `(${name}) is ${status}${suspended_by === null ? '' : ` by ${suspended_by}`}`;

interface Audited {
  id: string;
  at: string;
  operator: string;
  service: string;
  command: string;
  subject: string;
  reason: string | null;
}

const audit: AdminCommand = {
  name: 'audit',
  help: `prints what operators did and looked at, the latest ${PAGE} unless --last says otherwise, oldest first`,
  options: { last: { help: `how many, 1 to ${MAX_LAST}` }, ...URL_OPTION },
  worksOn: 'http',
  run: asOperator(async (operator, { options }) => {
    const last = options.last === undefined ? PAGE : Number(options.last);
    if (!Number.isInteger(last) || last < 1 || last > MAX_LAST)
      throw new CommandFailure(`--last must be a number from 1 to ${MAX_LAST}`);
    const entries: Audited[] = [];
    for (let isMore = true; isMore && entries.length < last;) {
      const query = { limit: Math.min(PAGE, last - entries.length), cursor: entries.at(-1)?.id };
      const page = await operator.request<Audited[]>('GET', '/admin/audit', { query });
      entries.push(...page);
      isMore = page.length === query.limit;
    }
    return entries
      .reverse()
      .map(({ at, operator: who, service, command, subject, reason }) =>
        [at, who, service, command, subject, reason === null ? '' : JSON.stringify(reason)].join('\t'),
      )
      .join('\n');
  }),
};

/** The commands that do the same as the operator pages of the console, by the same HTTP interface. */
export const httpCommands: readonly AdminCommand[] = [
  shows('overview', '/overview', 'how the marketplace is doing: money, calls, and what waits'),
  shows(
    'search',
    '/search?q=*',
    'accounts, listings, payments and calls by id, wallet, name, transaction or prefix of a key',
    'text',
  ),
  shows('agent show', '/agents/*', 'an account with its wallets and keys', 'id'),
  acts<OutputOf<typeof suspendAgent>>(
    {
      name: 'agent suspend',
      help: "disables an agent's keys and wallets, and takes its listings off the market",
      argument: 'id',
      path: '/agents/*/suspend',
      needsReason: true,
    },
    stateOfAgent,
  ),
  acts<OutputOf<typeof suspendAgent>>(
    {
      name: 'agent release',
      help: 'lets a suspended agent go on, and brings its listings back',
      argument: 'id',
      path: '/agents/*/release',
      needsReason: false,
    },
    stateOfAgent,
  ),
  acts<OutputOf<typeof revokeAnyKey>>(
    {
      name: 'key revoke',
      help: 'ends an API key for good',
      argument: 'id',
      path: '/api-keys/*/revoke',
      needsReason: true,
    },
    () => 'is revoked',
  ),
  shows(
    'listing show',
    '/listings/*',
    'a listing in any state, who suspended it, its slugs, and other listings whose names read the same,',
    'id|slug',
  ),
  acts<OutputOf<typeof holdListing>>(
    {
      name: 'listing suspend',
      help: 'takes a listing off the market; its owner cannot bring it back',
      argument: 'id|slug',
      path: '/listings/*/suspend',
      needsReason: true,
    },
    stateOfListing,
  ),
  acts<OutputOf<typeof holdListing>>(
    {
      name: 'listing release',
      help: 'restores a suspended listing to its former state, unless its owner has deleted it',
      argument: 'id|slug',
      path: '/listings/*/release',
      needsReason: false,
    },
    stateOfListing,
  ),
  shows('payment show', '/payments/*', 'a payment with its signatures and what was booked of it', 'id'),
  shows('call show', '/calls/*', 'a call with every attempt', 'id'),
  audit,
];
