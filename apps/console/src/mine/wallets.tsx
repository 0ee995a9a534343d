import { useMutation, useQueryClient } from '@tanstack/react-query';
import type {
  Challenge,
  ChallengePurpose,
  LinkedWallet,
  UpdateWallet,
  WalletCapability,
  WalletProof,
} from '@market/sdk';
import { useState } from 'react';
import { bodyOf, withKey } from '../api/client.js';
import { shortened } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { Code } from '../parts/code.js';
import { ChoiceField, Form, TextField } from '../parts/form.js';
import { Modal, SubmitOrCancel } from '../parts/modal.js';
import { Failure, Loaded } from '../parts/states.js';
import { Facts } from '../parts/table.js';
import { Badge, Hash, Time } from '../parts/values.js';
import { SignMessage } from '../wallets/sign-message.js';
import { useWallets as useBrowserWallets } from '../wallets/use-wallets.js';
import { WalletList } from '../wallets/wallet-list.js';
import { useAgent } from './agent.js';
import { listingsKey, useOwnListings, useValidation, useWallets, walletsKey } from './owner-queries.js';

const CHAINS = { evm: 'EVM (Ethereum, Base, …)', solana: 'Solana' };
const USES: Record<WalletCapability, string> = {
  login: 'agree to a claim',
  recovery: 'recover the account',
  payer: 'pay',
  payout: 'get paid',
};

/** A change of a wallet, which another one of the account has to sign. */
interface Change {
  wallet: LinkedWallet;
  title: string;
  text: string;
  /** What does the same in a terminal. */
  command: string;
  changes: UpdateWallet;
}

export function Wallets() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Wallets of ${name}`);
  const wallets = useWallets(id);
  const [change, setChange] = useState<Change>();
  const [isLinking, setIsLinking] = useState(false);
  return (
    <>
      <div className="row between">
        <h1>Wallets</h1>
        <button type="button" className="primary" onClick={() => setIsLinking(true)}>
          Link a wallet
        </button>
      </div>
      <PayoutMissing />
      <Loaded query={wallets} lines={6}>
        {(data) => (
          <>
            <ul className="plain stack tight">
              {data.map((wallet) => (
                <Row key={wallet.id} wallet={wallet} ask={setChange} />
              ))}
            </ul>
            {isLinking && <LinkWallet wallets={data} onClose={() => setIsLinking(false)} />}
            {change && <ChangeWallet {...change} wallets={data} onClose={() => setChange(undefined)} />}
          </>
        )}
      </Loaded>
    </>
  );
}

/** What a check of a listing says about who can pay for it; undefined if it is about something else. */
export const unpayable = ({ name, status }: { name: string; status: string }): string | undefined =>
  name === 'wallet'
    ? 'no wallet is on the chain that buyers pay on, so nobody can pay for it.'
    : name === 'payment' && status === 'warning'
      ? 'buyers cannot pay for it by signature (x402): no wallet is on a chain that they pay on, or the price is too low.'
      : undefined;

/** Where nobody can pay for what the agent lists. */
function PayoutMissing() {
  const { agent_id: id } = useAgent();
  const paid = useOwnListings(id, 1).data?.data.find(({ pricing_amount }) => pricing_amount > 0);
  const wanting = useValidation(id, paid?.id).data?.find((check) => unpayable(check));
  if (!paid || !wanting) return null;
  return (
    <section className="notice" aria-label="What needs doing">
      <p>
        “{paid.name}”: {unpayable(wanting)}
      </p>
    </section>
  );
}

function Row({ wallet, ask }: { wallet: LinkedWallet; ask: (change: Change) => void }) {
  const { address, label, chain_type, capabilities, status, created_at } = wallet;
  const may = (capability: WalletCapability): boolean => status === 'active' && capabilities.includes(capability);
  const defaults = [
    wallet.is_primary && 'primary',
    wallet.is_default_payer && 'default for payments',
    wallet.is_default_payout && 'default for payouts',
  ].filter((text) => text !== false);
  const action = (shown: string, command: string, text: string, changes: UpdateWallet) => (
    <button
      type="button"
      className="small"
      onClick={() => ask({ wallet, title: shown, text, command: `market wallets ${command} ${address}`, changes })}
    >
      {shown}
      <span className="visually-hidden"> {address}</span>
    </button>
  );
  return (
    <li className="card stack tight">
      <div className="row between">
        <h2>{label ?? <Hash of={address} />}</h2>
        <span className="row">
          {defaults.map((text) => (
            <span key={text} className="badge">
              {text}
            </span>
          ))}
          <Badge state={status} />
        </span>
      </div>
      <Facts
        className="facts"
        facts={{
          Address: <code>{address}</code>,
          Chain: CHAINS[chain_type],
          'It may': capabilities.map((capability) => USES[capability]).join(', '),
          Linked: <Time at={created_at} />,
        }}
      />
      <div className="row">
        {may('payout') &&
          !wallet.is_default_payout &&
          action(
            'Make default for payouts',
            'default --for payout',
            'What the agent earns from now on is paid to this wallet.',
            {
              is_default_payout: true,
            },
          )}
        {may('payer') &&
          !wallet.is_default_payer &&
          action(
            'Make default for payments',
            'default --for payer',
            'The agent pays from this wallet unless it names another one.',
            {
              is_default_payer: true,
            },
          )}
        {status === 'active'
          ? action(
              'Disable',
              'disable',
              'It can no longer pay, be paid, sign in or recover the account. Its defaults pass to the oldest wallet that can have them.',
              { status: 'disabled' },
            )
          : action('Enable', 'enable', 'It may again do what it could before.', { status: 'active' })}
      </div>
    </li>
  );
}

const recoversOf = (wallets: LinkedWallet[]): LinkedWallet[] =>
  wallets.filter(({ status, capabilities }) => status === 'active' && capabilities.includes('recovery'));

/** Requests the messages that these wallets have to sign. They name the agent, so its key requests them. */
const challengesOf = (agentId: string, purpose: ChallengePurpose, addresses: string[]): Promise<Challenge[]> =>
  withKey(agentId, 'manage wallets', 'write', (client) =>
    Promise.all(
      addresses.map(
        async (wallet_address) =>
          (await client.POST('/api/v1/auth/challenge', { body: { wallet_address, purpose } }).then(bodyOf)).data,
      ),
    ),
  );

/** Lets wallets sign, one after the other, and then sends their proofs. */
function useProofs(purpose: ChallengePurpose, send: (proofs: WalletProof[]) => Promise<unknown>, onDone: () => void) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const [proofs, setProofs] = useState<WalletProof[]>([]);
  const ask = useMutation({
    mutationFn: async (addresses: string[]) => {
      const challenges = await challengesOf(id, purpose, addresses);
      return addresses.map((address, index) => ({ address, challenge: challenges[index]! }));
    },
  });
  const submit = useMutation({
    mutationFn: send,
    onSuccess: async () => {
      await Promise.all([
        queries.invalidateQueries({ queryKey: walletsKey(id) }),
        queries.invalidateQueries({ queryKey: listingsKey(id) }),
      ]);
      onDone();
    },
    // A challenge is good once, so everything is signed anew.
    onError: () => {
      setProofs([]);
      ask.reset();
    },
  });
  const next = ask.data?.[proofs.length];
  const sign = next && {
    ...next,
    onSigned: (signature: string): void => {
      const all = [...proofs, { wallet_address: next.address, signature, nonce: next.challenge.nonce }];
      setProofs(all);
      if (all.length === ask.data!.length) submit.mutate(all);
    },
  };
  return { ask, sign, isBusy: ask.isPending || submit.isPending, error: submit.error ?? ask.error };
}

const Sign = ({ sign, isBusy }: { sign: NonNullable<ReturnType<typeof useProofs>['sign']>; isBusy: boolean }) => (
  <div key={sign.address} className="stack tight">
    <p>
      <Hash of={sign.address} /> signs this message, exactly as it is:
    </p>
    <SignMessage
      address={sign.address}
      message={sign.challenge.message}
      action="Continue"
      isBusy={isBusy}
      onSigned={sign.onSigned}
    />
  </div>
);

const InATerminal = ({ command }: { command: string }) => (
  <section aria-label="In a terminal">
    <p>Or in a terminal, where the agent’s wallet is:</p>
    <Code text={command} label="The command" />
  </section>
);

/** The wallets that may sign a change. */
const Signer = ({
  wallets,
  value,
  onChange,
}: {
  wallets: LinkedWallet[];
  value: string;
  onChange: (address: string) => void;
}) => (
  <ChoiceField
    name="existing_wallet"
    label="Signed by"
    help="A wallet of the agent that may recover the account."
    value={value}
    onChange={onChange}
    options={Object.fromEntries(
      recoversOf(wallets).map(({ address, label }) => [address, label ?? shortened(address)]),
    )}
  />
);

function ChangeWallet({
  wallet,
  title,
  text,
  command,
  changes,
  wallets,
  onClose,
}: Change & { wallets: LinkedWallet[]; onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const [signer, setSigner] = useState(recoversOf(wallets)[0]?.address ?? '');
  const params = { path: { id: wallet.id } };
  const { ask, sign, isBusy, error } = useProofs(
    'wallet_update',
    ([proof]) =>
      withKey(id, 'manage wallets', 'write', (client) =>
        client.PATCH('/api/v1/me/wallets/{id}', { params, body: { proof: proof!, ...changes } }),
      ),
    onClose,
  );
  return (
    <Modal title={`${title}: ${wallet.label ?? shortened(wallet.address)}`} onClose={onClose}>
      <p>{text}</p>
      {sign ? (
        <Sign sign={sign} isBusy={isBusy} />
      ) : (
        <Form error={error} onSubmit={() => ask.mutate([signer])}>
          <Signer wallets={wallets} value={signer} onChange={setSigner} />
          <SubmitOrCancel action="Continue" isDisabled={isBusy} onClose={onClose} />
        </Form>
      )}
      <InATerminal command={command} />
    </Modal>
  );
}

function LinkWallet({ wallets, onClose }: { wallets: LinkedWallet[]; onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const browsers = useBrowserWallets();
  const [signer, setSigner] = useState(recoversOf(wallets)[0]?.address ?? '');
  const [address, setAddress] = useState('');
  const [label, setLabel] = useState('');
  const connect = useMutation({
    mutationFn: async (choice: (typeof browsers)[number]) => (await choice.connect()).address,
    onSuccess: setAddress,
  });
  const { ask, sign, isBusy, error } = useProofs(
    'wallet_link',
    ([existing_wallet, new_wallet]) =>
      withKey(id, 'manage wallets', 'write', (client) =>
        client.POST('/api/v1/me/wallets', {
          body: { existing_wallet: existing_wallet!, new_wallet: new_wallet!, ...(label !== '' && { label }) },
        }),
      ),
    onClose,
  );
  return (
    <Modal title="Link a wallet" onClose={onClose}>
      {sign ? (
        <Sign sign={sign} isBusy={isBusy} />
      ) : (
        <>
          <p>Both wallets sign a message. The new one may then pay, get paid and sign in for the agent.</p>
          <WalletList wallets={browsers} isBusy={connect.isPending} choose={connect.mutate} />
          {connect.isError && <Failure error={connect.error} />}
          <Form error={error} onSubmit={() => ask.mutate([signer, address.trim()])}>
            <TextField
              name="wallet_address"
              label="Address of the new wallet"
              placeholder="0x… or a Solana address"
              value={address}
              onChange={setAddress}
            />
            <TextField name="label" label="Label" isOptional value={label} onChange={setLabel} />
            <Signer wallets={wallets} value={signer} onChange={setSigner} />
            <SubmitOrCancel action="Continue" isDisabled={isBusy} onClose={onClose} />
          </Form>
          <InATerminal command="market wallets link --wallet FILE" />
        </>
      )}
    </Modal>
  );
}
