import type { WalletChoice } from './connected-wallet.js';

/** Wallets to choose from. */
export const WalletList = ({
  wallets,
  isBusy,
  choose,
}: {
  wallets: WalletChoice[];
  isBusy: boolean;
  choose: (wallet: WalletChoice) => void;
}) => (
  <ul className="plain stack tight">
    {wallets.map((wallet) => (
      <li key={wallet.id}>
        <button type="button" className="wallet" disabled={isBusy} onClick={() => choose(wallet)}>
          {wallet.icon?.startsWith('data:image/') && <img src={wallet.icon} alt="" width="24" height="24" />}
          {wallet.name}
        </button>
      </li>
    ))}
  </ul>
);
