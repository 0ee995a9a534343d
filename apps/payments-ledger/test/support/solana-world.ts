import { startSolanaNode, type SolanaNode } from '@market/testing';
import {
  AccountRole,
  appendTransactionMessageInstructions,
  compressTransactionMessageUsingAddressLookupTables,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getAddressEncoder,
  getBase64EncodedWireTransaction,
  getProgramDerivedAddress,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type Address,
  type Instruction,
  type KeyPairSigner,
  type Rpc,
  type Signature,
  type SolanaRpcApi,
} from '@solana/kit';
import { getCreateAccountInstruction, getTransferSolInstruction, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { findAssociatedTokenPda, getCreateAssociatedTokenIdempotentInstructionAsync, getInitializeMint2Instruction, getMintSize, getMintToInstruction, getTransferCheckedInstruction, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { addressOf, deriveKey } from '../../src/rails/solana/deposit-addresses.js';

/** @param path as the operator's report has it, `m/1'/2'/3'`. */
export const addressAt = (seed: Uint8Array, path: string): Address => addressOf(deriveKey(seed, path.split('/').slice(1).map((index) => Number.parseInt(index, 10))));

export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' as Address;
const LOOKUP_TABLES = 'AddressLookupTab1e1111111111111111111111111' as Address;
const SLOT_HASHES = 'SysvarS1otHashes111111111111111111111111111' as Address;
const [CREATE, EXTEND] = [Buffer.of(0, 0, 0, 0), Buffer.of(2, 0, 0, 0)];
const DECIMALS = 6;
const SUPPLY = 10n ** 15n;
/** A mint with a fee on transfers, and all accounts of Token-2022 before their extensions. */
const FEE_MINT_BYTES = 278n;

export interface Mint {
  address: Address;
  program: Address;
}

interface SendOptions {
  payer?: KeyPairSigner;
  /** Sends also what fails. */
  isForced?: boolean;
  /** Names these through a lookup table instead of by themselves. */
  hidden?: Address[];
}

/** A chain with a payer who has coin, and tokens that the payer mints. */
export interface SolanaWorld {
  node: SolanaNode;
  rpc: Rpc<SolanaRpcApi>;
  payer: KeyPairSigner;
  /** A mint of its own, all of it with the payer; of Token-2022 with a fee where it has a rate. */
  mint(feeBps?: number): Promise<Mint>;
  accountOf(mint: Mint, owner: Address): Promise<Address>;
  /** What pays `owner`, its token account included. */
  tokenTransfer(mint: Mint, owner: Address, value: bigint): Promise<Instruction[]>;
  /** Names also these, behind its two accounts. */
  coinTransfer(to: Address, value: bigint, ...references: Address[]): Instruction;
  /** One transaction. */
  send(instructions: Instruction[], options?: SendOptions): Promise<Signature>;
  sendToken(mint: Mint, owner: Address, value: bigint): Promise<Signature>;
  sendCoin(to: Address, value: bigint): Promise<Signature>;
  stop(): void;
}

export async function startSolanaWorld(): Promise<SolanaWorld> {
  const node = await startSolanaNode();
  const rpc = createSolanaRpc(node.url);
  const { payer } = node;
  const send: SolanaWorld['send'] = async (instructions, { payer: from = payer, isForced = false, hidden } = {}) => {
    const table = hidden && { [await lookupTable(hidden)]: hidden };
    const { value: lifetime } = await rpc.getLatestBlockhash().send();
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(from, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
      (dated) => appendTransactionMessageInstructions(instructions, dated),
      (full) => (table ? compressTransactionMessageUsingAddressLookupTables(full, table) : full),
    );
    const wire = getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(message));
    return rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight: isForced }).send();
  };
  /** Made and filled by the payer. Source: solana-program/address-lookup-table, instruction.rs. */
  const lookupTable = async (addresses: Address[]): Promise<Address> => {
    const { value: hashes } = await rpc.getAccountInfo(SLOT_HASHES, { encoding: 'base64' }).send();
    const recentSlot = Buffer.from(hashes!.data[0], 'base64').subarray(8, 16);
    const encode = (address: Address): Uint8Array => new Uint8Array(getAddressEncoder().encode(address));
    const authority = await generateKeyPairSigner();
    const [table, bump] = await getProgramDerivedAddress({ programAddress: LOOKUP_TABLES, seeds: [encode(authority.address), recentSlot] });
    const accounts = [
      { address: table, role: AccountRole.WRITABLE },
      { address: authority.address, role: AccountRole.READONLY_SIGNER, signer: authority },
      { address: payer.address, role: AccountRole.WRITABLE_SIGNER, signer: payer },
      { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
    ];
    const count = Buffer.alloc(8);
    count.writeBigUInt64LE(BigInt(addresses.length));
    const create = { programAddress: LOOKUP_TABLES, accounts, data: Buffer.concat([CREATE, recentSlot, Buffer.of(bump)]) };
    const extend = { programAddress: LOOKUP_TABLES, accounts, data: Buffer.concat([EXTEND, count, ...addresses.map(encode)]) };
    await send([create, extend]);
    return table;
  };
  const accountOf: SolanaWorld['accountOf'] = async (mint, owner) => (await findAssociatedTokenPda({ mint: mint.address, owner, tokenProgram: mint.program }))[0];
  const open = (mint: Mint, owner: Address): Promise<Instruction> => getCreateAssociatedTokenIdempotentInstructionAsync({ payer, owner, mint: mint.address, tokenProgram: mint.program });
  const tokenTransfer: SolanaWorld['tokenTransfer'] = async (mint, owner, value) => {
    const [source, destination] = [await accountOf(mint, payer.address), await accountOf(mint, owner)];
    return [await open(mint, owner), getTransferCheckedInstruction({ source, mint: mint.address, destination, authority: payer, amount: value, decimals: DECIMALS }, { programAddress: mint.program as typeof TOKEN_PROGRAM_ADDRESS })];
  };
  const coinTransfer: SolanaWorld['coinTransfer'] = (to, value, ...references) => {
    const transfer = getTransferSolInstruction({ source: payer, destination: to, amount: value });
    return { ...transfer, accounts: [...transfer.accounts, ...references.map((reference) => ({ address: reference, role: AccountRole.READONLY }))] };
  };
  return {
    node,
    rpc,
    payer,
    async mint(feeBps) {
      const key = await generateKeyPairSigner();
      const mint: Mint = { address: key.address, program: feeBps === undefined ? TOKEN_PROGRAM_ADDRESS : TOKEN_2022 };
      const config = { programAddress: mint.program as typeof TOKEN_PROGRAM_ADDRESS };
      const space = feeBps === undefined ? BigInt(getMintSize()) : FEE_MINT_BYTES;
      const lamports = await rpc.getMinimumBalanceForRentExemption(space).send();
      const to = await accountOf(mint, payer.address);
      await send(
        [
          getCreateAccountInstruction({ payer, newAccount: key, lamports, space, programAddress: mint.program }),
          ...(feeBps === undefined ? [] : [feeConfig(mint.address, feeBps)]),
          getInitializeMint2Instruction({ mint: mint.address, decimals: DECIMALS, mintAuthority: payer.address }, config),
          await open(mint, payer.address),
          getMintToInstruction({ mint: mint.address, token: to, mintAuthority: payer, amount: SUPPLY }, config),
        ],
      );
      return mint;
    },
    accountOf,
    tokenTransfer,
    coinTransfer,
    send,
    sendToken: async (mint, owner, value) => send(await tokenTransfer(mint, owner, value)),
    sendCoin: (to, value) => send([coinTransfer(to, value)]),
    stop: () => node.stop(),
  };
}

/** Token-2022 `InitializeTransferFeeConfig` without authorities. Source: solana-program/token-2022, extension/transfer_fee/instruction.rs. */
function feeConfig(mint: Address, feeBps: number): Instruction {
  const [instruction, kind, noAuthority] = [26, 0, 0];
  const data = Buffer.alloc(14);
  data.set([instruction, kind, noAuthority, noAuthority]);
  data.writeUInt16LE(feeBps, 4);
  data.writeBigUInt64LE(SUPPLY, 6);
  return { programAddress: TOKEN_2022, accounts: [{ address: mint, role: AccountRole.WRITABLE }], data };
}

