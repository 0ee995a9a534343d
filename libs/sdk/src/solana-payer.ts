import type { Address, Base64EncodedWireTransaction, Instruction, ReadonlyAccount, Signature, TransactionPartialSigner } from '@solana/kit';
import { toBaseUnits } from './decimal.js';
import { withoutUrl } from './errors.js';
import { chainOf, DECIMALS, mayPay, usdcOf, type PayableChain, type PayableChains } from './known-assets.js';
import type { Payer } from './payer.js';

export interface SolanaChain extends PayableChain {
  /** Of a JSON-RPC server of the cluster. It may hold a key: no error shows it. */
  rpcUrl: string;
}

const RPC_TIMEOUT_MS = 10_000;
/** Of a genesis hash, what names the cluster in CAIP-2. Source: namespaces.chainagnostic.org/solana/caip2. */
const REFERENCE_LENGTH = 32;

/**
 * Pays by a plain transfer of SOL or USDC to the offer's deposit address, with its reference where it has one; the signer pays the fee, and with USDC the rent
 * of the deposit's token account. Needs `@solana/kit`, `@solana-program/system` and `@solana-program/token`, which are
 * loaded with the first payment.
 */
export function solanaPayer(signer: TransactionPartialSigner, chains: PayableChains<SolanaChain>): Payer {
  const connect = async (network: string | undefined, signal: AbortSignal | undefined) => {
    const kit = await import('@solana/kit');
    const { rpcUrl } = chainOf(chains, network)!;
    const timed = () => ({ abortSignal: AbortSignal.any([AbortSignal.timeout(RPC_TIMEOUT_MS), ...(signal ? [signal] : [])]) });
    return { kit, rpcUrl, rpc: kit.createSolanaRpc(rpcUrl), timed };
  };
  return {
    rail: 'solana',
    // A sandbox's deposit addresses are nobody's, on whatever chain it says they are.
    canPay: ({ provider, requirements: { network, currency } }) =>
      provider !== 'sandbox' && network?.startsWith('solana:') === true && currency !== 'ETH' && mayPay(chains, network, currency),

    async prepare({ requirements: { network, currency, amount, depositAddress, reference } }, signal) {
      const { kit, rpc, rpcUrl, timed } = await connect(network, signal);
      const destination = kit.address(depositAddress);
      const baseUnits = toBaseUnits(amount, DECIMALS[currency]);
      const named: ReadonlyAccount[] = reference === undefined ? [] : [{ address: kit.address(reference), role: kit.AccountRole.READONLY }];
      try {
        const genesis = await rpc.getGenesisHash().send(timed());
        if (network !== `solana:${genesis.slice(0, REFERENCE_LENGTH)}`) throw new Error(`The RPC server for ${network} serves another cluster.`);
        const [transfer, ...before] =
          currency === 'SOL'
            ? await coinTransfer(signer, destination, baseUnits)
            : await tokenTransfer(signer, destination, baseUnits, await mintOf(kit.address(usdcOf(chains, network)!)));
        const instructions = [...before, { ...transfer, accounts: [...transfer.accounts!, ...named] }];
        const { value: lifetime } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send(timed());
        const message = kit.pipe(
          kit.createTransactionMessage({ version: 0 }),
          (draft) => kit.setTransactionMessageFeePayerSigner(signer, draft),
          (draft) => kit.setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
          (draft) => kit.appendTransactionMessageInstructions(instructions, draft),
        );
        const transaction = await kit.signTransactionMessageWithSigners(message, { abortSignal: signal });
        return { signed: kit.getBase64EncodedWireTransaction(transaction), transaction: kit.getSignatureFromTransaction(transaction) };
      } catch (error) {
        throw withoutUrl(error, rpcUrl);
      }

      async function mintOf(mint: Address): Promise<Mint> {
        const { value: account } = await rpc.getAccountInfo(mint, { encoding: 'base64', commitment: 'confirmed' }).send(timed());
        if (!account) throw new Error(`There is no token ${mint} on ${network}.`);
        return { address: mint, program: account.owner };
      }
    },

    async send({ signed, transaction, offer }, signal) {
      const { rpc, rpcUrl, timed } = await connect(offer.requirements.network, signal);
      try {
        await rpc
          .sendTransaction(signed as Base64EncodedWireTransaction, { encoding: 'base64', preflightCommitment: 'confirmed' })
          .send(timed());
      } catch (error) {
        // Servers refuse what they have already; so that is asked for, and the refusal counts where they do not have it.
        const known = await rpc
          .getSignatureStatuses([transaction as Signature], { searchTransactionHistory: true })
          .send(timed())
          .catch(() => undefined);
        const status = known?.value[0];
        if (!status || status.err) throw withoutUrl(error, rpcUrl);
      }
    },
  };
}

interface Mint {
  address: Address;
  /** The token program that keeps its accounts. */
  program: Address;
}

/** The transfer, and what must be done before it. */
type Transfer = [transfer: Instruction, ...before: Instruction[]];

async function coinTransfer(signer: TransactionPartialSigner, destination: Address, amount: bigint): Promise<Transfer> {
  const { getTransferSolInstruction } = await import('@solana-program/system');
  return [getTransferSolInstruction({ source: signer, destination, amount })];
}

/** Into the deposit's associated token account, which is made if it is not there. */
async function tokenTransfer(signer: TransactionPartialSigner, owner: Address, amount: bigint, { address: mint, program }: Mint): Promise<Transfer> {
  const { findAssociatedTokenPda, getCreateAssociatedTokenIdempotentInstruction, getTransferCheckedInstruction } = await import('@solana-program/token');
  const accountOf = async (holder: Address): Promise<Address> => (await findAssociatedTokenPda({ owner: holder, mint, tokenProgram: program }))[0];
  const [source, destination] = await Promise.all([accountOf(signer.address), accountOf(owner)]);
  return [
    getTransferCheckedInstruction({ source, mint, destination, authority: signer, amount, decimals: DECIMALS.USDC }, { programAddress: program }),
    getCreateAssociatedTokenIdempotentInstruction({ payer: signer, ata: destination, owner, mint, tokenProgram: program }),
  ];
}
