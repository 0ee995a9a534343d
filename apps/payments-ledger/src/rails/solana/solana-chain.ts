import { getAddressDecoder, getAddressEncoder, getBase58Encoder, getProgramDerivedAddress, type Address, type Signature } from '@solana/kit';
import type { Observation } from '../../payments/payment-state.js';
import type { SolanaChainSettings } from './solana-settings.js';
import { SolanaServer, type Account, type AccountState, type SolanaTransaction } from './solana-server.js';

export interface SolanaLimits {
  requestTimeoutMs: number;
  /** A newest state older than this is a server that stands still. */
  maxHeadAgeSeconds: number;
}

/** The account where an offer's money lies: the address itself for SOL, its associated token account for a token. */
interface Purse {
  account: Address;
  token: { program: Address; mint: Address; owner: Address } | null;
}

const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL' as Address;
const TOKEN_PROGRAMS = ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'] as Address[];
/** Where a token account says whose it is, and how much it holds. Source: solana-program/token, `Account`; Token-2022 puts its extensions behind. */
const [MINT_AT, OWNER_AT, AMOUNT_AT, TOKEN_ACCOUNT_BYTES] = [0, 32, 64, 165];
/** An address for one payment is in few. One that is in more is being played with: then what lies there counts, which is never more than what came. */
const MOST_TRANSACTIONS = 20;
/** Most that a server lists at once. */
const MOST_LISTED = 1_000;
const SYSTEM_PROGRAM = '11111111111111111111111111111111' as Address;
/** Source: solana-system-interface, `SystemInstruction::Transfer`. */
const [TRANSFER, TRANSFER_BYTES, LAMPORTS_AT] = [2, 12, 4];
const LAMPORTS_AT_FIRST = 890_880n;
const LAMPORTS_LIVE_MS = 3_600_000;

/**
 * One Solana chain through one or two RPC servers. What is not certain throws, and the payment stays as it is: another chain
 * behind the URL, a server that stands still or leaves something out, two servers that disagree.
 */
export class SolanaChain {
  private readonly servers: SolanaServer[];
  private tokenProgram?: Promise<Address>;
  private least = { lamports: LAMPORTS_AT_FIRST, askedAt: -Infinity };

  constructor(
    private readonly settings: SolanaChainSettings,
    private readonly limits: SolanaLimits,
  ) {
    this.servers = settings.rpcUrls.map((url) => new SolanaServer(url, limits.requestTimeoutMs));
  }

  /** What has arrived for `address` in the finalized state, of SOL or of a token, and whether the newest state shows more. */
  async arrived(address: Address, mint: Address | null): Promise<Observation> {
    const purse = await this.purseOf(address, mint);
    return this.agree((server) => this.look(server, purse));
  }

  /** What has arrived by finalized transfers of SOL to `receiver` that name `reference`. */
  arrivedNaming(reference: Address, receiver: Address): Promise<Observation> {
    return this.agree((server) => this.lookFor(server, reference, receiver));
  }

  /** What lies there in the newest state of the first server. */
  async balance(address: Address, mint: Address | null): Promise<bigint> {
    const purse = await this.purseOf(address, mint);
    return amountIn(purse, (await this.servers[0]!.state(purse.account, 'processed')).account);
  }

  /** Least lamports that an address which has none can get: the chain keeps no account with less. Asked for again each hour, beside the call. */
  leastLamports(): bigint {
    if (performance.now() - this.least.askedAt > LAMPORTS_LIVE_MS) {
      this.least.askedAt = performance.now();
      this.servers[0]!.leastBalance().then(
        (lamports) => (this.least.lamports = lamports),
        () => undefined,
      );
    }
    return this.least.lamports;
  }

  private async agree(look: (server: SolanaServer) => Promise<Observation>): Promise<Observation> {
    const [first, ...others] = await Promise.all(this.servers.map(look));
    if (others.some(({ receivedBaseUnits }) => receivedBaseUnits !== first!.receivedBaseUnits)) throw new Error(`the RPC servers of ${this.settings.network} disagree about what arrived`);
    return { ...first!, arriving: first!.arriving || others.some(({ arriving }) => arriving) };
  }

  private async look(server: SolanaServer, purse: Purse): Promise<Observation> {
    const { final, newest } = await this.statesOf(server, purse.account);
    const arriving = amountIn(purse, newest.account) > amountIn(purse, final.account);
    return { ...(await received(server, purse, final)), arriving };
  }

  private async lookFor(server: SolanaServer, reference: Address, receiver: Address): Promise<Observation> {
    const { final } = await this.statesOf(server, receiver);
    const [finalized, confirmed] = await Promise.all([server.signatures(reference, 'finalized', MOST_LISTED), server.signatures(reference, 'confirmed', MOST_LISTED)]);
    // Until it is on the chain its buyer alone knows the reference: who names it to get in the way comes later.
    const first = finalized.filter(({ slot }) => slot <= final.slot).slice(-MOST_TRANSACTIONS);
    const transfers = await Promise.all(first.map(async ({ signature }) => ({ signature, ...paidNaming(await server.transaction(signature), reference, receiver) })));
    const incoming = transfers.filter(({ baseUnits }) => baseUnits > 0n);
    return {
      receivedBaseUnits: sum(incoming),
      arriving: confirmed.some(({ slot }) => slot > final.slot),
      transactionHash: incoming[0]?.signature ?? null,
      unclearTransaction: transfers.find(({ isUnclear }) => isUnclear)?.signature,
    };
  }

  private async statesOf(server: SolanaServer, account: Address): Promise<Record<'final' | 'newest', AccountState>> {
    const [genesisHash, final, newest] = await Promise.all([server.genesisHash(), server.state(account, 'finalized'), server.state(account, 'processed')]);
    if (!genesisHash.startsWith(this.settings.network.slice('solana:'.length))) throw new Error(`an RPC server for ${this.settings.network} serves the chain of genesis ${genesisHash}`);
    const ageSeconds = Math.floor(Date.now() / 1000) - Number(newest.unixSeconds);
    if (ageSeconds > this.limits.maxHeadAgeSeconds) throw new Error(`an RPC server of ${this.settings.network} stands still: its newest state is ${ageSeconds} s old`);
    return { final, newest };
  }

  private async purseOf(address: Address, mint: Address | null): Promise<Purse> {
    if (!mint) return { account: address, token: null };
    const program = await this.programOf(mint);
    const encode = getAddressEncoder().encode;
    const [account] = await getProgramDerivedAddress({ programAddress: ASSOCIATED_TOKEN_PROGRAM, seeds: [encode(address), encode(program), encode(mint)] });
    return { account, token: { program, mint, owner: address } };
  }

  /** Which of the two token programs keeps the mint, once and for all. */
  private programOf(mint: Address): Promise<Address> {
    this.tokenProgram ??= this.findProgram(mint).catch((error: unknown) => {
      this.tokenProgram = undefined;
      throw error;
    });
    return this.tokenProgram;
  }

  private async findProgram(mint: Address): Promise<Address> {
    const [first, ...others] = await Promise.all(this.servers.map(async (server) => (await server.state(mint, 'finalized')).account?.owner));
    if (!first || !TOKEN_PROGRAMS.includes(first) || others.some((program) => program !== first)) throw new Error(`${mint} is no mint on ${this.settings.network}`);
    return first;
  }
}

/** Everything that ever came, also where it was moved on since: each transaction's change, which must add up to what lies there. */
async function received(server: SolanaServer, purse: Purse, final: AccountState): Promise<Pick<Observation, 'receivedBaseUnits' | 'transactionHash'>> {
  const held = amountIn(purse, final.account);
  const listed = await server.signatures(purse.account, 'finalized', MOST_TRANSACTIONS + 1);
  if (listed.length > MOST_TRANSACTIONS) return { receivedBaseUnits: held, transactionHash: null };
  const changes = await Promise.all(listed.filter(({ slot }) => slot <= final.slot).map(({ signature }) => changeBy(server, signature, purse)));
  if (sum(changes) !== held) throw new Error(`the transactions of ${purse.account} do not add up to what lies there`);
  const incoming = changes.filter(({ baseUnits }) => baseUnits > 0n);
  return { receivedBaseUnits: sum(incoming), transactionHash: incoming[0]?.signature ?? null };
}

async function changeBy(server: SolanaServer, signature: Signature, purse: Purse): Promise<{ signature: Signature; baseUnits: bigint }> {
  return { signature, baseUnits: changeOf(await server.transaction(signature), purse) };
}

function changeOf(landed: SolanaTransaction, { account, token }: Purse): bigint {
  const { meta } = landed;
  const index = keysOf(landed, account).indexOf(account);
  if (!token) return meta.postBalances[index]! - meta.preBalances[index]!;
  const amount = (balances: typeof meta.preTokenBalances): bigint => balances.find(({ accountIndex, mint }) => accountIndex === index && mint === token.mint)?.uiTokenAmount.amount ?? 0n;
  return amount(meta.postTokenBalances) - amount(meta.preTokenBalances);
}

/**
 * What a transaction's transfers bring to `receiver` that name this reference and none beside it: so each transfer counts for one
 * offer at most, whatever else the transaction does or names. It is unclear where there are none and the receiver has more
 * afterwards. Source of the form: Solana Pay, "Transfer Request", `reference`.
 */
function paidNaming(landed: SolanaTransaction, reference: Address, receiver: Address): { baseUnits: bigint; isUnclear: boolean } {
  const keys = keysOf(landed, reference);
  const { transaction, meta } = landed;
  if (meta.err !== null) return { baseUnits: 0n, isUnclear: false };
  const paid = [...transaction.message.instructions, ...meta.innerInstructions.flatMap(({ instructions }) => instructions)].map(({ programIdIndex, accounts, data }) => {
    const [source, destination, named, ...more] = accounts.map((index) => keys[index]);
    if (keys[programIdIndex] !== SYSTEM_PROGRAM || source === receiver || destination !== receiver || named !== reference || more.length > 0) return { baseUnits: 0n };
    const bytes = Buffer.from(getBase58Encoder().encode(data));
    return { baseUnits: bytes.length === TRANSFER_BYTES && bytes.readUInt32LE() === TRANSFER ? bytes.readBigUInt64LE(LAMPORTS_AT) : 0n };
  });
  const at = keys.indexOf(receiver);
  return { baseUnits: sum(paid), isUnclear: sum(paid) === 0n && at >= 0 && meta.postBalances[at]! > meta.preBalances[at]! };
}

/** @throws Error where they do not name the account that the transaction was listed for, or not all are there. */
function keysOf({ transaction, meta }: SolanaTransaction, account: Address): Address[] {
  const keys = [...transaction.message.accountKeys, ...meta.loadedAddresses.writable, ...meta.loadedAddresses.readonly];
  if (!keys.includes(account) || keys.length !== meta.preBalances.length || keys.length !== meta.postBalances.length) throw new Error(`an RPC server left accounts of a transaction of ${account} unresolved`);
  return keys;
}

/** Anybody may send lamports to where a token account is going to be: that makes none. */
function amountIn({ token, account: address }: Purse, account: Account | null): bigint {
  if (!account) return 0n;
  if (!token) return account.lamports;
  if (account.owner !== token.program) return 0n;
  const keyAt = (offset: number): Address => getAddressDecoder().decode(account.data, offset);
  if (account.data.length < TOKEN_ACCOUNT_BYTES || keyAt(MINT_AT) !== token.mint || keyAt(OWNER_AT) !== token.owner) throw new Error(`${address} is not the token account it should be`);
  return account.data.readBigUInt64LE(AMOUNT_AT);
}

const sum = (changes: { baseUnits: bigint }[]): bigint => changes.reduce((total, { baseUnits }) => total + baseUnits, 0n);
