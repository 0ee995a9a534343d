import type { Address, Hex, LocalAccount } from 'viem';
import { toBaseUnits } from './decimal.js';
import { withoutUrl } from './errors.js';
import { chainOf, DECIMALS, mayPay, usdcOf, type PayableChain, type PayableChains } from './known-assets.js';
import type { Payer } from './payer.js';

export interface EvmChain extends PayableChain {
  /** Of a JSON-RPC server of the chain. It may hold a key: no error shows it. */
  rpcUrl: string;
}

const RPC_TIMEOUT_MS = 10_000;

/**
 * Pays by a plain transfer of ETH or USDC from an account to the offer's deposit address. The account pays the gas. The
 * marketplace takes the call as paid once the transfer is final on its chain: minutes, in which it answers 202.
 */
export function evmPayer(account: LocalAccount, chains: PayableChains<EvmChain>): Payer {
  const connect = async (network: string | undefined) => {
    const { createWalletClient, defineChain, http, publicActions } = await import('viem');
    const { rpcUrl } = chainOf(chains, network)!;
    const chain = defineChain({
      id: Number(network!.slice('eip155:'.length)),
      name: network!,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: DECIMALS.ETH },
      rpcUrls: { default: { http: [rpcUrl] } },
    });
    return { rpcUrl, client: createWalletClient({ account, chain, transport: http(rpcUrl, { timeout: RPC_TIMEOUT_MS }) }).extend(publicActions) };
  };
  return {
    rail: 'evm',
    // Transactions of an account are numbered.
    inTurn: true,
    // A sandbox's deposit addresses are nobody's, on whatever chain it says they are.
    canPay: ({ provider, requirements: { network, currency } }) =>
      provider !== 'sandbox' && network?.startsWith('eip155:') === true && currency !== 'SOL' && mayPay(chains, network, currency),

    async prepare({ requirements: { network, currency, amount, depositAddress } }) {
      const { encodeFunctionData, erc20Abi, getAddress, keccak256 } = await import('viem');
      const { client, rpcUrl } = await connect(network);
      const to = getAddress(depositAddress);
      const value = toBaseUnits(amount, DECIMALS[currency]);
      const transfer =
        currency === 'ETH'
          ? { to, value }
          : { to: usdcOf(chains, network) as Address, data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, value] }) };
      try {
        // Signs for the offer's chain, and throws where the server serves another.
        const signed = await client.signTransaction(await client.prepareTransactionRequest(transfer));
        return { signed, transaction: keccak256(signed) };
      } catch (error) {
        throw withoutUrl(error, rpcUrl);
      }
    },

    async send({ signed, transaction, offer }) {
      const { client, rpcUrl } = await connect(offer.requirements.network);
      try {
        await client.sendRawTransaction({ serializedTransaction: signed as Hex });
      } catch (error) {
        // Servers refuse what they have already; so that is asked for, and the refusal counts where they do not have it.
        if (!(await client.getTransaction({ hash: transaction as Hex }).catch(() => undefined))) throw withoutUrl(error, rpcUrl);
      }
    },
  };
}
