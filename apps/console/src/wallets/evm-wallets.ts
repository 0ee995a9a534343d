import type { WalletChoice } from './connected-wallet.js';

interface Eip1193 {
  request(asked: { method: string; params?: unknown[] }): Promise<unknown>;
}
interface Announcement {
  info: { uuid: string; name: string; icon: string };
  provider: Eip1193;
}

/** Reports every EVM wallet in the browser when it announces itself. Source: eips.ethereum.org/EIPS/eip-6963. */
export function watchEvmWallets(found: (wallet: WalletChoice) => void): () => void {
  const onAnnounce = ({ detail: { info, provider } }: CustomEvent<Announcement>): void =>
    found({
      id: info.uuid,
      name: info.name,
      icon: info.icon,
      canPay: true,
      async connect() {
        const [address] = (await provider.request({ method: 'eth_requestAccounts' })) as string[];
        if (address === undefined) throw new Error(`${info.name} shared no account.`);
        return {
          address,
          // EIP-191, over the bytes of the message.
          sign: (message) =>
            provider.request({ method: 'personal_sign', params: [hexOf(message), address] }) as Promise<string>,
          async signTypedData({ types, ...data }) {
            // Wallets sign only for the chain that they are on.
            const chainId = `0x${data.domain.chainId.toString(16)}`;
            await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
            const typed = JSON.stringify(
              { ...data, types: { EIP712Domain: DOMAIN, ...types } },
              (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
            );
            return provider.request({ method: 'eth_signTypedData_v4', params: [address, typed] }) as Promise<Hex>;
          },
        };
      },
    });
  const listener = onAnnounce as unknown as EventListener;
  window.addEventListener('eip6963:announceProvider', listener);
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  return () => window.removeEventListener('eip6963:announceProvider', listener);
}

type Hex = `0x${string}`;

const DOMAIN = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

const hexOf = (text: string): string =>
  `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
