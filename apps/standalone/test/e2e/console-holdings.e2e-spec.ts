import { evmWallet, x402Payer } from '@market/sdk';
import { describeNeeding, eventually } from '@market/testing';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { claim, expectWell, openWindow, signIn, startBrowser, widthsIn, type Window } from '../support/browser.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { injectEvmWallet, injectSolanaWallet } from '../support/injected-wallets.js';
import { openShop } from '../support/seller.js';
import { freeFeed, listFeed, subscribeOnce } from '../support/subscriber.js';

const run = promisify(execFile);
const CLI = join(import.meta.dirname, '../../../../libs/cli/dist/main.js');

describeNeeding('chromium')('in a browser', () => {
  inEachMode('wallets and subscriptions in the console', (harness) => {
    describe.each(widthsIn(harness))('on a screen of %i pixels', (width) => {
      let browser: Browser;
      let window: Window;
      let page: Page;
      let agent: Agent;
      let added: string;
      let directory: string;

      beforeAll(async () => {
        browser = await startBrowser();
        window = await openWindow(browser, harness, { width });
        ({ page } = window);
        const [own, seller] = (await Promise.all([
          registerAgent(harness, { displayName: 'Of two wallets' }),
          registerAgent(harness, { displayName: 'A seller of feeds' }),
        ])) as [Agent, Agent];
        agent = own;
        await injectEvmWallet(window.context, agent.wallet.exportKey() as `0x${string}`);
        added = (await injectSolanaWallet(window.context)).address;
        directory = await mkdtemp(join(tmpdir(), 'market-wallets-'));
        const feed = await listFeed(seller, {
          ...freeFeed,
          name: `Feed at ${width}`,
          connection_instructions: 'Ask port 4222.',
        });
        expect(await subscribeOnce(agent, { listing_id: feed.id })).toMatchObject({ status: 201 });
        await signIn(page);
        await claim(page, agent);
      });
      afterAll(async () => {
        await browser.close();
        await rm(directory, { recursive: true });
      });
      afterEach(() => expect(window.violations).toEqual([]));

      const dialog = () => page.getByRole('dialog');
      const button = (name: string | RegExp) => page.getByRole('button', { name });
      const toSign = () => dialog().getByRole('region', { name: 'The message to be signed' });
      /** Runs a command that the page shows, where the agent's wallet is. */
      const inATerminal = (command: string) =>
        run(process.execPath, [CLI, ...command.split(' ').slice(1)], {
          env: { PATH: process.env.PATH, XDG_CONFIG_HOME: directory, MARKET_URL: harness.baseUrl },
        });
      const shownCommand = async (): Promise<string> =>
        (await dialog().getByRole('region', { name: 'The command' }).textContent())!;
      const linked = async (address: string) =>
        (await agent.market.wallets.list()).find((wallet) => wallet.address === address);

      it('links a wallet, which both wallets in the browser sign', async () => {
        await page.goto(`/mine/wallets?agent=${agent.id}`);
        await page.locator('li.card').waitFor();
        await expectWell(page, `wallets, ${width}`);
        await button('Link a wallet').click();
        await dialog().getByLabel('Address of the new wallet').fill('0x12');
        await dialog().getByRole('button', { name: 'Continue' }).click();
        await dialog().locator('.error').first().waitFor();
        await dialog().getByRole('button', { name: 'Injected Solana' }).click();
        await eventually(async () =>
          expect(await dialog().getByLabel('Address of the new wallet').inputValue()).toBe(added),
        );
        await dialog().getByLabel('Label').fill('For sales');
        await expectWell(page, `link a wallet, ${width}`);
        await dialog().getByRole('button', { name: 'Continue' }).click();
        await toSign().filter({ hasText: agent.wallet.address }).waitFor();
        await dialog().getByRole('button', { name: 'Injected EVM' }).click();
        await toSign().filter({ hasText: added }).waitFor();
        await expectWell(page, `sign with a wallet, ${width}`);
        await dialog().getByRole('button', { name: 'Injected Solana' }).click();
        await page.getByRole('heading', { name: 'For sales' }).waitFor();
        expect(await linked(added)).toMatchObject({ label: 'For sales', capabilities: ['login', 'payer', 'payout'] });
      });

      it('links, makes default, disables and enables wallets by the commands that it shows', async () => {
        const file = join(directory, 'wallet');
        await writeFile(file, agent.wallet.exportKey());
        await inATerminal(`market signup --recover --wallet ${file}`);
        const other = evmWallet();
        await writeFile(file, other.exportKey());
        await button('Link a wallet').click();
        await inATerminal((await shownCommand()).replace('FILE', file));
        expect(await linked(other.address)).toMatchObject({ status: 'active' });
        await page.keyboard.press('Escape');
        await button(`Make default for payouts ${added}`).click();
        await inATerminal(await shownCommand());
        expect(await linked(added)).toMatchObject({ is_default_payout: true });
        await page.keyboard.press('Escape');
        await button(`Disable ${added}`).click();
        await inATerminal(await shownCommand());
        expect(await linked(added)).toMatchObject({ status: 'disabled' });
        await page.reload();
        await button(`Enable ${added}`).click();
        await inATerminal(await shownCommand());
        expect(await linked(added)).toMatchObject({ status: 'active' });
        await page.reload();
      });

      it('takes the signature of a wallet that is neither here nor in a terminal', async () => {
        await button(`Disable ${added}`).click();
        await dialog().getByRole('button', { name: 'Continue' }).click();
        await dialog().getByText('The wallet is somewhere else').click();
        const signature = await agent.wallet.sign((await toSign().textContent())!);
        await dialog().getByLabel('Its signature of this message').fill(signature);
        await expectWell(page, `paste a signature, ${width}`);
        await dialog().getByRole('button', { name: 'Continue' }).click();
        await button(`Enable ${added}`).waitFor();
        expect(await linked(added)).toMatchObject({ status: 'disabled' });
      });

      it('says what the marketplace refuses, and begins anew', async () => {
        await button(`Disable ${agent.wallet.address}`).click();
        await dialog().getByRole('button', { name: 'Continue' }).click();
        await dialog().getByRole('button', { name: 'Injected EVM' }).click();
        await dialog().getByText('left without an active wallet that can recover it').waitFor();
        await dialog().getByRole('button', { name: 'Continue' }).waitFor();
        await page.keyboard.press('Escape');
        await dialog().waitFor({ state: 'hidden' });
      });

      it('shows what was bought and how to connect, and cancels it after it has asked', async () => {
        await page.goto(`/mine/subscriptions?agent=${agent.id}`);
        const row = page.getByRole('row', { name: new RegExp(`Feed at ${width}`) });
        await row.getByText('active').waitFor();
        await expectWell(page, `subscriptions, ${width}`);
        await button(`Connect to Feed at ${width}`).click();
        await dialog().getByText('Ask port 4222.').waitFor();
        await dialog().getByRole('button', { name: 'Close' }).click();
        await button(`Cancel Feed at ${width}`).click();
        await dialog().getByText('It ends at once').waitFor();
        await expectWell(page, `cancel a subscription, ${width}`);
        await button('Cancel subscription').click();
        await row.getByText('cancelled').waitFor();
        await eventually(async () =>
          expect((await agent.market.subscriptions.list({ status: 'all' })).data).toMatchObject([
            { status: 'cancelled' },
          ]),
        );
        // What took a key was done with ones that are gone.
        const made = (await agent.market.apiKeys.list()).filter(({ name }) => name.startsWith('Console: '));
        expect(made.length).toBeGreaterThan(0);
        expect(made.filter(({ is_active }) => is_active)).toEqual([]);
      });

      it('claims an agent with its wallet in this browser, which then pays the fees that are due', async () => {
        const [seller, buyer] = (await Promise.all([
          registerAgent(harness, { wallet: evmWallet(), displayName: 'Of a wallet here' }),
          registerAgent(harness),
        ])) as [Agent, Agent];
        const shop = await openShop(seller);
        const payer = x402Payer(evmWallet(), { 'eip155:84532': {} });
        await buyer.market.call(shop.listing, { text: 'signed' }, { pay: payer });
        const other = await openWindow(browser, harness, { width });
        await injectEvmWallet(other.context, seller.wallet.exportKey() as `0x${string}`);
        await signIn(other.page);
        await other.page.goto(`/mine/claim?agent=${seller.id}`);
        await other.page.getByRole('button', { name: 'Continue' }).click();
        await other.page.getByRole('link', { name: 'Of a wallet here' }).waitFor();
        await expectWell(other.page, `claim, ${width}`);
        await other.page.getByRole('button', { name: 'Injected EVM' }).click();
        await other.page.waitForURL(`**/mine?agent=${seller.id}`);

        await other.page.goto(`/mine/money?agent=${seller.id}`);
        await other.page.getByRole('button', { name: /^Pay \$/ }).click();
        await expectWell(other.page, `pay fees, ${width}`);
        await other.page.getByRole('button', { name: 'Injected EVM' }).click();
        await other.page.getByText('were paid by').waitFor();
        await other.page.getByRole('button', { name: 'Close' }).click();
        await other.page.getByRole('heading', { name: 'Fees due: $0.00' }).waitFor();
        await expectWell(other.page, `money, ${width}`);
        expect(other.violations).toEqual([]);
        await other.context.close();
        await shop.close();
      });
    });
  });
});
